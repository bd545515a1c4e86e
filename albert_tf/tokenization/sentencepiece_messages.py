"""The messages of sentencepiece's files and results, for whatever protobuf is installed.

The package's own modules for them refuse a protobuf older than the one they were generated with, and sentencepiece
does not tell pip so: its release 0.2.3 wants 7.36, where TensorFlow is content with 6.31. Fields that are not named
here are kept as they are (sentencepiece_model.proto and sentencepiece.proto of google/sentencepiece).
"""

import functools
from typing import Any

from google.protobuf.descriptor_pb2 import FieldDescriptorProto, FileDescriptorProto
from google.protobuf.descriptor_pool import DescriptorPool
from google.protobuf.message_factory import GetMessageClass

_PACKAGE = "albert_tf.sentencepiece"
# {message: its fields}: name, number, type, and the default if there is one; of a type with * there may be many.
_FIELDS = {
    "ModelProto": "pieces 1 ModelProto.SentencePiece*, trainer_spec 2 TrainerSpec, normalizer_spec 3 NormalizerSpec",
    "ModelProto.SentencePiece": "piece 1 string, score 2 float, type 3 ModelProto.SentencePiece.Type NORMAL",
    "TrainerSpec": (
        "model_type 3 TrainerSpec.ModelType UNIGRAM, vocab_size 4 int32 8000, "
        "treat_whitespace_as_suffix 24 bool false, byte_fallback 35 bool false, "
        "unk_id 40 int32 0, bos_id 41 int32 1, eos_id 42 int32 2, pad_id 43 int32 -1, "
        "unk_piece 45 string <unk>, bos_piece 46 string <s>, eos_piece 47 string </s>, pad_piece 48 string <pad>"
    ),
    "NormalizerSpec": (
        "name 1 string, precompiled_charsmap 2 bytes, add_dummy_prefix 3 bool true, "
        "remove_extra_whitespaces 4 bool true, escape_whitespaces 5 bool true"
    ),
    "SentencePieceText": "text 1 string, pieces 2 SentencePieceText.SentencePiece*",
    "SentencePieceText.SentencePiece": "piece 1 string, id 2 uint32, surface 3 string, begin 4 uint32, end 5 uint32",
}
_ENUMS = {
    "ModelProto.SentencePiece.Type": ("NORMAL", "UNKNOWN", "CONTROL", "USER_DEFINED", "UNUSED", "BYTE"),
    "TrainerSpec.ModelType": ("UNIGRAM", "BPE", "WORD", "CHAR"),
}


def new_model() -> Any:
    """An empty ModelProto: what a .model file holds."""
    return _class_of("ModelProto")()


def new_text() -> Any:
    """An empty SentencePieceText: a text cut into pieces, with their places in bytes of UTF-8."""
    return _class_of("SentencePieceText")()


@functools.cache
def _class_of(name: str) -> Any:
    return GetMessageClass(_pool().FindMessageTypeByName(f"{_PACKAGE}.{name}"))


@functools.cache
def _pool() -> DescriptorPool:
    file = FileDescriptorProto(name=f"{_PACKAGE}.proto", package=_PACKAGE, syntax="proto2")
    messages: dict[str, Any] = {}
    for name, fields in _FIELDS.items():
        outer, _, own = name.rpartition(".")
        message = (messages[outer].nested_type if outer else file.message_type).add(name=own)
        messages[name] = message
        for field, number, kind, *default in map(str.split, fields.split(", ")):
            row = message.field.add(name=field, number=int(number), default_value=default[0] if default else None)
            row.label = row.LABEL_REPEATED if kind.endswith("*") else row.LABEL_OPTIONAL
            _set_type(row, kind.rstrip("*"))
    for name, values in _ENUMS.items():
        outer, _, own = name.rpartition(".")
        enum = messages[outer].enum_type.add(name=own)
        for number, value in enumerate(values, 1):
            enum.value.add(name=value, number=number)
    pool = DescriptorPool()
    pool.Add(file)
    return pool


def _set_type(row: FieldDescriptorProto, kind: str) -> None:
    if kind in _ENUMS:
        row.type = FieldDescriptorProto.TYPE_ENUM
    elif kind in _FIELDS:
        row.type = FieldDescriptorProto.TYPE_MESSAGE
    else:
        row.type = FieldDescriptorProto.Type.Value(f"TYPE_{kind.upper()}")
        return
    row.type_name = f".{_PACKAGE}.{kind}"
