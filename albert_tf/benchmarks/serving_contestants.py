"""Contestants of compare_serving: an encoder or a classifier in every form that serves, ours and others'.

Each function opens a model and returns a function of a batch (dict of int32 [B, S], as ragged_batch makes it), which
computes it and returns when that is done. Peers run a padded batch as it is. Of ours the SavedModel leaves padding out,
and the files of ONNX and LiteRT are run as Predictor runs them, in batches of like lengths.
"""

import os
import types

import numpy as np

from albert_tf.benchmarks.serving_files import (
    HUGGING_FACE_ONNX,
    LITERT,
    ONNX,
    SAVED_MODEL,
    SENTENCE_TRANSFORMERS,
    SENTENCE_TRANSFORMERS_INT8,
)

_NAMES = ("input_ids", "input_mask", "segment_ids")
# Names that torch and its exports have for them.
_THEIR_NAMES = ("input_ids", "attention_mask", "token_type_ids")


def saved_model(given, precision):
    """Our SavedModel, by TensorFlow."""
    from albert_tf.benchmarks.inference import load_model

    compute = load_model(os.path.join(given.folder, SAVED_MODEL.format(precision)))
    return lambda batch: [value.numpy() for value in compute(batch).values()]


def onnx(given, precision):
    """Our ONNX file, by onnxruntime."""
    from albert_tf.serving.portable_runners import onnx_runner

    file = os.path.join(given.folder, ONNX.format(precision))
    return _in_like_lengths(onnx_runner(file, given.threads), shares_a_range=precision == "int8")


def onnx_by_openvino(given, precision):
    """Our ONNX file, by OpenVINO as Predictor runs it."""
    from albert_tf.serving.portable_runners import openvino_runner

    file = os.path.join(given.folder, ONNX.format(precision))
    return _in_like_lengths(openvino_runner(file, given.threads, precision=precision))


def litert(given, precision):
    """Our LiteRT file, by ai-edge-litert."""
    from albert_tf.serving.portable_runners import litert_runner

    return _in_like_lengths(litert_runner(os.path.join(given.folder, LITERT.format(precision)), given.threads))


def _in_like_lengths(run, shares_a_range=False):
    from albert_tf.serving.like_lengths import run_rows

    model = types.SimpleNamespace(
        path="", run=run, input_names=_NAMES, batch_size=None, length=None, rows_share_a_range=shares_a_range
    )

    def compute(batch):
        lengths = batch["input_mask"].sum(axis=1)
        rows = [
            {name: batch[name][row, :length] for name in ("input_ids", "input_mask", "segment_ids")}
            for row, length in enumerate(lengths)
        ]
        return list(run_rows(model, rows, pad_id=0))

    return compute


def openvino(given, precision):
    """OpenVINO reading our float32 ONNX file."""
    import openvino

    hint = {"float32": "f32", "bfloat16": "bf16"}[precision]
    settings = {"INFERENCE_PRECISION_HINT": hint, "INFERENCE_NUM_THREADS": given.threads}
    compiled = openvino.Core().compile_model(os.path.join(given.folder, ONNX.format("float32")), "CPU", settings)
    return lambda batch: compiled({name: batch[name] for name in _NAMES})


def hugging_face_onnx(given, precision):
    """Hugging Face's model as torch exports it to ONNX, by onnxruntime."""
    from albert_tf.serving.portable_runners import onnx_runner

    run = onnx_runner(os.path.join(given.folder, HUGGING_FACE_ONNX), given.threads)
    return lambda batch: run(
        {theirs: batch[ours].astype(np.int64) for ours, theirs in zip(_NAMES, _THEIR_NAMES, strict=True)}
    )


def hugging_face(given, precision, compiled=False):
    """Hugging Face's model in torch, without gradients."""
    from albert_tf.benchmarks.contestants import torch_model

    classify = given.task == "classify"
    torch, model, precise, device = torch_model(
        given.config, precision, "AlbertForSequenceClassification" if classify else "AlbertModel"
    )
    torch.set_num_threads(given.threads)
    model.eval()
    # One program for all shapes would be slower; each is compiled when it is first met, which is not timed.
    model = torch.compile(model, dynamic=False) if compiled else model

    def compute(batch):
        with torch.no_grad(), precise:
            outputs = model(*(torch.from_numpy(batch[name]).to(device) for name in _NAMES))
        return [value.float().cpu().numpy() for value in outputs.values()]

    return compute


def hugging_face_compiled(given, precision):
    """The same through torch.compile."""
    return hugging_face(given, precision, compiled=True)


def keras_hub(given, precision):
    """KerasHub's model by predict_on_batch, which Keras compiles."""
    import keras
    import keras_hub as hub

    from albert_tf.benchmarks.contestants import keras_hub_backbone

    keras.config.set_dtype_policy("mixed_bfloat16" if precision == "bfloat16" else "float32")
    model = keras_hub_backbone(given.config)
    if given.task == "classify":
        model = hub.models.AlbertTextClassifier(model, num_classes=2, preprocessor=None)
    model.compile(jit_compile=True)
    their_names = ("token_ids", "padding_mask", "segment_ids")
    return lambda batch: model.predict_on_batch(dict(zip(their_names, (batch[name] for name in _NAMES), strict=True)))


def sentence_transformers_onnx(given, precision):
    """Hugging Face's model as sentence-transformers exports it, by onnxruntime; mean pooling is added."""
    import onnxruntime

    session = onnxruntime.SessionOptions()
    session.intra_op_num_threads = given.threads
    file_name = SENTENCE_TRANSFORMERS_INT8 if precision == "int8" else "onnx/model.onnx"
    return _sentence_transformer(given, "onnx", {"session_options": session, "file_name": file_name})


def sentence_transformers_openvino(given, precision):
    """The same by OpenVINO."""
    hint = {"float32": "f32", "bfloat16": "bf16"}[precision]
    settings = {"INFERENCE_PRECISION_HINT": hint, "INFERENCE_NUM_THREADS": given.threads}
    return _sentence_transformer(given, "openvino", {"ov_config": settings})


def _sentence_transformer(given, backend, more):
    import torch
    from sentence_transformers import SentenceTransformer

    torch.set_num_threads(given.threads)
    folder = os.path.join(given.folder, SENTENCE_TRANSFORMERS.format(backend))
    model = SentenceTransformer(folder, backend=backend, device="cpu", model_kwargs=more)

    def compute(batch):
        features = {
            theirs: torch.from_numpy(batch[ours]).long() for ours, theirs in zip(_NAMES, _THEIR_NAMES, strict=True)
        }
        return [model(features)["sentence_embedding"].numpy()]

    return compute


# {contestant: (function, precision, what it needs beside the dependencies of albert_tf)}.
CONTESTANTS = {
    "albert_tf": (saved_model, "float32", ()),
    "albert_tf_bfloat16": (saved_model, "bfloat16", ()),
    "albert_tf_onnx": (onnx, "float32", ("onnxruntime",)),
    "albert_tf_onnx_openvino": (onnx_by_openvino, "float32", ("openvino",)),
    "albert_tf_onnx_openvino_bfloat16": (onnx_by_openvino, "bfloat16", ("openvino",)),
    "albert_tf_onnx_int8": (onnx, "int8", ("onnxruntime",)),
    "albert_tf_litert": (litert, "float32", ("ai_edge_litert",)),
    "albert_tf_litert_int8": (litert, "int8", ("ai_edge_litert",)),
    "openvino": (openvino, "float32", ("openvino",)),
    "openvino_bfloat16": (openvino, "bfloat16", ("openvino",)),
    "hugging_face_onnx": (hugging_face_onnx, "float32", ("onnxruntime",)),
    "hugging_face": (hugging_face, "float32", ("torch", "transformers")),
    "hugging_face_bfloat16": (hugging_face, "bfloat16", ("torch", "transformers")),
    "hugging_face_compiled": (hugging_face_compiled, "float32", ("torch", "transformers")),
    "hugging_face_compiled_bfloat16": (hugging_face_compiled, "bfloat16", ("torch", "transformers")),
    **{
        f"sentence_transformers_{name}": (function, precision, ("sentence_transformers", "optimum"))
        for name, function, precision in (
            ("onnx", sentence_transformers_onnx, "float32"),
            ("onnx_int8", sentence_transformers_onnx, "int8"),
            ("openvino", sentence_transformers_openvino, "float32"),
            ("openvino_bfloat16", sentence_transformers_openvino, "bfloat16"),
        )
    },
    "keras_hub": (keras_hub, "float32", ("keras_hub",)),
    "keras_hub_bfloat16": (keras_hub, "bfloat16", ("keras_hub",)),
}
# Those that run in TensorFlow, which for bfloat16 lays kernels out once.
ON_TENSORFLOW = (saved_model, keras_hub)
