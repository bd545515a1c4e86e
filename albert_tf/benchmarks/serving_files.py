"""Writes the files that compare_serving's contestants load, so that their start is a start of serving alone.

One model of random weights in every form of ours; with --of=hugging_face one of theirs, exported by torch; with
--of=sentence_transformers the same as that package exports it for its backends.
"""

import os

from absl import flags

from albert_tf.runtime import command, files
from albert_tf.runtime.errors import InputError
from albert_tf.runtime.tensorflow_import import import_tensorflow

# What lies in the folder, by precision.
SAVED_MODEL, ONNX, LITERT, HUGGING_FACE_ONNX = "{}_saved_model", "{}.onnx", "{}.tflite", "hugging_face.onnx"
# By backend; the file of int8 lies beside that of float32.
SENTENCE_TRANSFORMERS, SENTENCE_TRANSFORMERS_INT8 = "sentence_transformers_{}", "onnx/model_qint8_avx512_vnni.onnx"


def define_flags(flag_values: flags.FlagValues = flags.FLAGS) -> None:
    """Declares the flags of this command."""
    fv = {"flag_values": flag_values}
    flags.DEFINE_enum("of", "albert_tf", tuple(_WRITERS), "Whose files to write.", **fv)
    flags.DEFINE_string("albert_config_file", None, "The model's shape.", **fv)
    flags.DEFINE_enum("task", "encode", ("encode", "classify"), "What the model does.", **fv)
    flags.DEFINE_string("output_dir", None, "A folder that is there.", **fv)


def _write(path: str, contents: bytes) -> None:
    with files.replace_file(path) as file:
        file.write(contents)


def _write_ours(config, classify: bool, folder: str) -> None:
    import_tensorflow()
    import numpy as np

    from albert_tf.benchmarks.inference import random_model, save_model
    from albert_tf.exports.served_copy import serving_copy
    from albert_tf.models.named_weights import named_weights
    from albert_tf.portable.interface import ENCODER, make_interface
    from albert_tf.portable.litert_file import litert_model
    from albert_tf.portable.onnx_heads import onnx_model

    model = random_model(config, classify)
    for precision in ("float32", "bfloat16"):
        save_model(os.path.join(folder, SAVED_MODEL.format(precision)), model, precision)
    interface = make_interface("classification" if classify else ENCODER, config, num_labels=2)
    # An encoder alone has the names that it has inside a model, without the first part.
    first = "" if classify else "albert/"
    weights = {first + name: np.asarray(variable) for name, variable in named_weights(model).items()}
    wanted = [form.name for form in interface.outputs]

    def compute(copy, inputs):
        outputs = copy(inputs)
        return {name: outputs[name] for name in wanted}

    for precision in ("float32", "bfloat16", "int8"):
        contents = onnx_model(weights, config, interface, precision, ("albert_tf", "benchmark"))
        _write(os.path.join(folder, ONNX.format(precision)), contents)
    for precision in ("float32", "int8"):
        contents = litert_model(serving_copy(model), compute, interface, precision)
        _write(os.path.join(folder, LITERT.format(precision)), contents)


def _write_theirs(config, classify: bool, folder: str) -> None:
    from albert_tf.benchmarks.contestants import torch_model

    torch, model, _, _ = torch_model(
        config, "float32", "AlbertForSequenceClassification" if classify else "AlbertModel"
    )
    names = ("input_ids", "attention_mask", "token_type_ids")
    # Two rows: an axis of one would be taken for a constant.
    ids = torch.randint(config.vocab_size, (2, 16))
    example = {"input_ids": ids, "attention_mask": torch.ones_like(ids), "token_type_ids": torch.zeros_like(ids)}
    free = {0: torch.export.Dim("batch"), 1: torch.export.Dim("length", max=config.max_position_embeddings)}
    torch.onnx.export(
        model.cpu().eval(),
        (),
        os.path.join(folder, HUGGING_FACE_ONNX),
        kwargs=example,
        input_names=list(names),
        dynamic_shapes=dict.fromkeys(names, free),
        dynamo=True,
        external_data=False,
        verbose=False,
    )


def _write_sentence_transformers(config, classify: bool, folder: str) -> None:
    from sentence_transformers import SentenceTransformer, export_dynamic_quantized_onnx_model, models
    from tokenizers import Tokenizer
    from tokenizers.models import Unigram
    from transformers import PreTrainedTokenizerFast

    from albert_tf.benchmarks.contestants import torch_model

    if classify:
        raise InputError("sentence-transformers encodes; it takes no part in --task=classify")
    _, model, _, _ = torch_model(config, "float32", "AlbertModel")
    plain = os.path.join(folder, SENTENCE_TRANSFORMERS.format("torch"))
    model.save_pretrained(plain)
    # The package wants a tokenizer, which is not asked anything here: batches are of ids.
    unigram = Tokenizer(Unigram([("<unk>", 0.0)], unk_id=0))
    PreTrainedTokenizerFast(tokenizer_object=unigram, pad_token="<unk>", unk_token="<unk>").save_pretrained(plain)
    for backend in ("onnx", "openvino"):
        encoder = models.Transformer(plain, backend=backend)
        pooling = models.Pooling(encoder.get_word_embedding_dimension())
        served = SentenceTransformer(modules=[encoder, pooling], device="cpu")
        path = os.path.join(folder, SENTENCE_TRANSFORMERS.format(backend))
        served.save_pretrained(path)
        if backend == "onnx":
            export_dynamic_quantized_onnx_model(served, "avx512_vnni", path)


_WRITERS = {
    "albert_tf": _write_ours,
    "hugging_face": _write_theirs,
    "sentence_transformers": _write_sentence_transformers,
}


def _run() -> None:
    from albert_tf.config import AlbertConfig

    given = flags.FLAGS
    config = AlbertConfig.from_json_file(given.albert_config_file)
    _WRITERS[given.of](config, given.task == "classify", given.output_dir)


main = command.entry_point(__name__, _run, required=("albert_config_file", "output_dir"))

if __name__ == "__main__":
    main()
