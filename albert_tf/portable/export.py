"""Writing a trained model in any format, checked before it appears.

OUTPUT_DIR/model.onnx or model.tflite    the model
OUTPUT_DIR/vocabulary.model              the vocabulary, for sentencepiece
OUTPUT_DIR/tokenizer.json                beside model.onnx: the same for the tokenizers libraries, in browsers too
OUTPUT_DIR/export.json                   what is in them, with checksums: head, labels, cleaning, inputs and outputs
"""

import dataclasses
import importlib.metadata
import os
from collections.abc import Callable, Mapping
from typing import Any

import keras
import numpy as np
from absl import logging

import albert_tf
from albert_tf.conversion.hugging_face_tokenizer import write_tokenizer_json
from albert_tf.conversion.pretrained import Pretrained
from albert_tf.exports.chosen_depth import exit_rule
from albert_tf.exports.export_file import write_export
from albert_tf.exports.export_source import POOLER, chosen_pooling, open_source, refuse_pooling, text_length
from albert_tf.exports.layer_outputs import stacked_layers
from albert_tf.exports.saved_model import export_saved_model
from albert_tf.exports.served_copy import serving_copy
from albert_tf.exports.settings import FLOAT32, LAYER_OUTPUTS
from albert_tf.exports.verification import explain_exits, sensitivity_of_exits
from albert_tf.heads.exit_names import LAYERS
from albert_tf.heads.exits import ExitRule
from albert_tf.heads.pooling import POOLED
from albert_tf.inputs.finetuning_features import MAX_SPAN_LENGTH
from albert_tf.models.early_exit import WholeBatchExit
from albert_tf.models.inputs import INPUT_MASK
from albert_tf.models.named_weights import named_weights
from albert_tf.portable.interface import EMBEDDING, ENCODER, PRETRAINING, Interface, make_interface
from albert_tf.portable.litert_file import litert_model
from albert_tf.portable.onnx_heads import onnx_model
from albert_tf.portable.outlier_splitting import split_outliers
from albert_tf.portable.settings import LITERT, ONNX, SAVED_MODEL, TOLERANCES, ModelExportSettings
from albert_tf.portable.verification import largest_error
from albert_tf.runtime import files
from albert_tf.runtime.errors import InputError
from albert_tf.runtime.packages import import_extra
from albert_tf.runtime.tensorflow_import import quiet_stderr
from albert_tf.serving.portable_runners import litert_runner, onnx_runner
from albert_tf.tokenization.base import Tokenizer
from albert_tf.tokenization.tokenizer_json import TOKENIZER_JSON

FILE_NAMES = {ONNX: "model.onnx", LITERT: "model.tflite"}
# Without its ending.
VOCABULARY_NAME = "vocabulary"
_PACKAGES = {ONNX: ("onnx", "onnxruntime"), LITERT: ("tensorflow", "ai-edge-litert")}
_MODULES = {ONNX: ("onnx", "onnxruntime"), LITERT: ("ai_edge_litert.interpreter",)}


def export_model(settings: ModelExportSettings) -> float:
    """Writes the folder of an export, as a whole or not at all, after comparing the model in it with the one it is of.

    Returns:
        the largest absolute difference between the outputs of both.

    Raises:
        InputError: checkpoint, config, vocabulary, head and lengths do not fit, output_dir holds something, or a
            package of the format is missing.
        OSError: no room, or no right to write.
    """
    if settings.format == SAVED_MODEL:
        return export_saved_model(settings.for_saved_model())
    for module in _MODULES[settings.format]:
        import_extra(module, settings.format)
    output_dir, pretrained, tokenizer = open_source(settings)
    length, precision = text_length(settings, pretrained), settings.chosen_precision
    rule = exit_rule(settings, pretrained)
    interface = _interface(settings, pretrained, length)
    logging.info("writing the head %s in %s, then running it to compare", interface.head, precision)
    with quiet_stderr(), explain_exits(rule, precision):
        contents, run = make_file(settings.format, pretrained.model, interface, precision, _beam_size(pretrained), rule)
        difference = largest_error(
            run,
            lambda inputs: compute(pretrained.model, inputs, interface),
            interface,
            pretrained.model.config,
            TOLERANCES[precision],
            rule,
            sensitivity_of_exits(pretrained.model) if rule is not None and precision == FLOAT32 else 1.0,
        )
    with files.replace_folder(output_dir) as folder:
        for name, data in (
            (FILE_NAMES[settings.format], contents),
            (VOCABULARY_NAME + tokenizer.ending, tokenizer.model_bytes),
        ):
            with files.replace_file(os.path.join(folder, name)) as file:
                file.write(data)
        if settings.format == ONNX:
            _write_tokenizer_json(folder, tokenizer)
        about = _about(settings, pretrained, tokenizer, interface)
        about |= {} if rule is None else {"early_exit": rule.to_dict()}
        about |= {"max_seq_length": length, "largest_error": difference}
        write_export(folder, about, place="")
    logging.info(
        "wrote %s; %s: %.1f MB; largest absolute error against the model: %.2g",
        *(output_dir, FILE_NAMES[settings.format], len(contents) / 1e6, difference),
    )
    return difference


def compute(model: Any, inputs: Mapping[str, Any], interface: Interface) -> dict[str, Any]:
    """The outputs of an interface, by the model itself; where texts may leave early, those of all exits.

    Args:
        model: an AlbertForPretraining, or one of models.finetuning.
        inputs: those of the interface, by their names.
        interface: of one of the model's heads.
    """
    names = [form.name for form in interface.outputs]
    of_layers = [name for name in names if name in LAYER_OUTPUTS]
    if interface.head in (ENCODER, EMBEDDING):
        outputs = model.albert(dict(inputs), output_attentions=bool(of_layers))
        outputs = outputs | stacked_layers(outputs, of_layers)
    elif LAYERS in names:
        return model(dict(inputs), all_exits=True)
    else:
        outputs = model(dict(inputs))
    if interface.head == EMBEDDING:
        return {EMBEDDING: interface.pooling.pool({**outputs, INPUT_MASK: inputs[INPUT_MASK]}, keras.ops)}
    return {name: outputs[name] for name in names}


def make_file(
    format_name: str,
    model: Any,
    interface: Interface,
    precision: str,
    beam_size: int = 0,
    rule: ExitRule | None = None,
) -> tuple[bytes, Callable[[Mapping[str, np.ndarray]], dict[str, np.ndarray]]]:
    """The contents of a file of a model, and a function that runs them.

    Args:
        format_name: portable.settings.ONNX or LITERT.
        model: an AlbertForPretraining, or one of models.finetuning.
        interface: of one of the model's heads.
        precision: a key of portable.settings.TOLERANCES; bfloat16 not of LiteRT.
        beam_size: the width of the beam, of the head "span_beam".
        rule: by which texts leave a model with exits; None: all have all layers.
    """
    if precision == "int8":
        model = split_outliers(model)
    if format_name == LITERT:
        contents = litert_model(
            serving_copy(model),
            lambda copy, inputs: _compute_until(copy, inputs, interface, rule),
            *(interface, precision),
        )
        return contents, litert_runner(contents)
    weights = {name: np.asarray(variable) for name, variable in named_weights(model).items()}
    weights |= {} if interface.pooling.dense is None else interface.pooling.dense.to_weights()
    producer = ("albert_tf", albert_tf.__version__)
    read = getattr(model, "classifier_pooling", POOLED)
    contents = onnx_model(weights, model.config, interface, precision, producer, beam_size, rule, read)
    return contents, onnx_runner(contents)


def _compute_until(model: Any, inputs: Mapping[str, Any], interface: Interface, rule: ExitRule | None) -> Any:
    """The outputs of an interface, by the model itself, which texts leave by a rule."""
    return compute(model, inputs, interface) if rule is None else WholeBatchExit(model, rule)(dict(inputs))


def _interface(settings: ModelExportSettings, pretrained: Pretrained, length: int) -> Interface:
    """The interface that the settings and the checkpoint ask for."""
    task, model = pretrained.task, pretrained.model
    if task is not None and settings.head == PRETRAINING:
        raise InputError(
            f"--head=pretraining: {settings.init_checkpoint} was fine-tuned for {task}; leave the flag out for its own "
            "head, or give --head=encoder"
        )
    head = settings.head or (PRETRAINING if task is None else task.head)
    if task is None and settings.head is None and pretrained.lacks("masked_lm/"):
        head = EMBEDDING
    if head != EMBEDDING:
        refuse_pooling(settings, head)
    if head == PRETRAINING and pretrained.lacks("masked_lm/"):
        raise InputError(
            f"--head={PRETRAINING}: {settings.init_checkpoint} has no head for masked words; leave the flag out for "
            f"--head={EMBEDDING}, or give --head={ENCODER}"
        )
    has_pooler = model.albert.pooler is not None and not pretrained.lacks(POOLER)
    sentence_head = has_pooler and pretrained.sentence_task != "none" and not pretrained.lacks("sentence_order/")
    return make_interface(
        head,
        model.config,
        num_labels=0 if task is None else task.num_labels,
        batch=settings.batch_size,
        length=length if settings.fixed_length else None,
        has_order=sentence_head and model.config.type_vocab_size > 1,
        has_pooler=has_pooler,
        beam=_beam_size(pretrained),
        max_span_length=getattr(model, "max_span_length", MAX_SPAN_LENGTH),
        layer_outputs=settings.layer_outputs,
        has_exits=settings.has_exits,
        **({"pooling": chosen_pooling(settings, pretrained)} if head in (ENCODER, EMBEDDING) else {}),
    )


def _write_tokenizer_json(folder: str, tokenizer: Tokenizer) -> None:
    """Writes the vocabulary for programs without sentencepiece; warns where its kind has no such file."""
    reason = write_tokenizer_json(folder, tokenizer)
    if reason:
        logging.warning(
            "%s: no %s is written, since the vocabulary %s; programs without sentencepiece, such as a web page, cannot "
            "read it",
            *(tokenizer.model_file, TOKENIZER_JSON, reason),
        )


def _beam_size(pretrained: Pretrained) -> int:
    is_beam = pretrained.task is not None and pretrained.task.head == "span_beam"
    return pretrained.model.span.beam_size if is_beam else 0


def _about(
    settings: ModelExportSettings, pretrained: Pretrained, tokenizer: Tokenizer, interface: Interface
) -> dict[str, Any]:
    """Everything that export.json says of the model but its length and its error."""
    task = pretrained.task
    if task is None:
        of_task: dict[str, Any] = {"sentence_task": pretrained.sentence_task}
    else:
        of_task = {"task": task.to_dict(), "labels": list(task.labels)}
    of_vectors = {"pooling": interface.pooling.to_dict()} if interface.head in (ENCODER, EMBEDDING) else {}
    return {
        "albert_tf": albert_tf.__version__,
        "versions": {name: importlib.metadata.version(name) for name in _PACKAGES[settings.format]},
        "model_format": settings.format,
        "model_file": FILE_NAMES[settings.format],
        "precision": settings.chosen_precision,
        "head": interface.head,
        **of_task,
        **of_vectors,
        "inputs": [form.to_dict() for form in interface.inputs],
        "outputs": [form.to_dict() for form in interface.outputs],
        "batch_size": settings.batch_size,
        "fixed_length": settings.fixed_length,
        "vocabulary": tokenizer.describe() | {"file": VOCABULARY_NAME + tokenizer.ending},
        "special_ids": {
            "pad": tokenizer.pad_id,
            "cls": tokenizer.cls_id,
            "sep": tokenizer.sep_id,
            "mask": tokenizer.mask_id,
        },
        "piece_replacements": _piece_replacements(tokenizer),
        "cleaning": dataclasses.asdict(tokenizer.cleaning),
        "config": pretrained.model.config.to_dict(),
    }


def _piece_replacements(tokenizer: Tokenizer) -> dict[str, list[int]]:
    """Ids in place of those that sentencepiece gives, by these, where others stand (tokenizer.digit_comma_table)."""
    values, splits = tokenizer.digit_comma_table()
    rows = [row.tolist() for row in np.split(values, splits[1:-1])]
    return {str(piece_id): row for piece_id, row in enumerate(rows) if row != [piece_id]}
