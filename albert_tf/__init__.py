"""ALBERT (Lan et al., 2019, arXiv 1909.11942) for TensorFlow and Keras 3.

The names below are the package's door; docs/python.md walks through it. Importing the package loads nothing: each name
loads its module when it is first used, and no name that a model needs loads TensorFlow on Keras's other backends.

>>> import albert_tf
>>> albert_tf.AlbertConfig(vocab_size=100, embedding_size=8, hidden_size=16, num_attention_heads=2).hidden_size
16
"""

import importlib
from typing import TYPE_CHECKING, Any

__version__ = "0.1.0"

# The module of each name.
_HOMES = {
    "checkpoints.finetuned_task": ("FinetunedTask",),
    "config": ("AlbertConfig",),
    "door": ("evaluate", "export", "finetune", "load", "load_tokenizer", "pretrain", "save"),
    "distillation.distil": ("distil_embedder",),
    "distillation.settings": ("DistillationSettings",),
    "embedding.settings": ("EmbeddingSettings",),
    "embedding.train": ("train_embedder",),
    "finetuning.settings": ("FinetuningSettings",),
    "inputs.pretraining_dataset": ("make_dataset",),
    "models.albert": ("AlbertModel",),
    "models.classification": ("AlbertForSequenceClassification",),
    "models.embedding": ("embed",),
    "models.finetuning": ("AlbertForMultipleChoice", "AlbertForSpan", "AlbertForTokenClassification"),
    "models.pretraining": ("AlbertForPretraining",),
    "models.span_categories": ("AlbertForSpanCategories",),
    "optimization.adamw": ("AdamW",),
    "optimization.lamb": ("LAMB",),
    "optimization.muon": ("Muon",),
    "pretraining.settings": ("EvaluationSettings", "PretrainingSettings"),
    "runtime.errors": ("InputError",),
    "serving.embedder": ("Embedder",),
    "serving.fill_mask": ("FillMask",),
    "serving.predictor": ("Predictor",),
    "exports.settings": ("ExportSettings",),
    "tokenization.text_cleaning": ("TextCleaning",),
    "tokenization.tokenizer": ("AlbertTokenizer",),
    "tokenization.word_pieces": ("WordPieceTokenizer",),
}
_HOME_OF = {name: home for home, names in _HOMES.items() for name in names}

__all__ = ["__version__", *sorted(_HOME_OF)]

# The same for type checkers.
if TYPE_CHECKING:
    from albert_tf.checkpoints.finetuned_task import FinetunedTask as FinetunedTask
    from albert_tf.config import AlbertConfig as AlbertConfig
    from albert_tf.distillation.distil import distil_embedder as distil_embedder
    from albert_tf.distillation.settings import DistillationSettings as DistillationSettings
    from albert_tf.door import evaluate as evaluate
    from albert_tf.door import export as export
    from albert_tf.door import finetune as finetune
    from albert_tf.door import load as load
    from albert_tf.door import load_tokenizer as load_tokenizer
    from albert_tf.door import pretrain as pretrain
    from albert_tf.door import save as save
    from albert_tf.embedding.settings import EmbeddingSettings as EmbeddingSettings
    from albert_tf.embedding.train import train_embedder as train_embedder
    from albert_tf.exports.settings import ExportSettings as ExportSettings
    from albert_tf.finetuning.settings import FinetuningSettings as FinetuningSettings
    from albert_tf.inputs.pretraining_dataset import make_dataset as make_dataset
    from albert_tf.models.albert import AlbertModel as AlbertModel
    from albert_tf.models.classification import AlbertForSequenceClassification as AlbertForSequenceClassification
    from albert_tf.models.embedding import embed as embed
    from albert_tf.models.finetuning import AlbertForMultipleChoice as AlbertForMultipleChoice
    from albert_tf.models.finetuning import AlbertForSpan as AlbertForSpan
    from albert_tf.models.finetuning import AlbertForTokenClassification as AlbertForTokenClassification
    from albert_tf.models.pretraining import AlbertForPretraining as AlbertForPretraining
    from albert_tf.models.span_categories import AlbertForSpanCategories as AlbertForSpanCategories
    from albert_tf.optimization.adamw import AdamW as AdamW
    from albert_tf.optimization.lamb import LAMB as LAMB
    from albert_tf.optimization.muon import Muon as Muon
    from albert_tf.pretraining.settings import EvaluationSettings as EvaluationSettings
    from albert_tf.pretraining.settings import PretrainingSettings as PretrainingSettings
    from albert_tf.runtime.errors import InputError as InputError
    from albert_tf.serving.embedder import Embedder as Embedder
    from albert_tf.serving.fill_mask import FillMask as FillMask
    from albert_tf.serving.predictor import Predictor as Predictor
    from albert_tf.tokenization.text_cleaning import TextCleaning as TextCleaning
    from albert_tf.tokenization.tokenizer import AlbertTokenizer as AlbertTokenizer
    from albert_tf.tokenization.word_pieces import WordPieceTokenizer as WordPieceTokenizer
else:
    # Not for type checkers, to which every misspelt name would be one that there is.
    def __getattr__(name: str) -> Any:
        if name not in _HOME_OF:
            raise AttributeError(f"module 'albert_tf' has no attribute {name!r}; it has {', '.join(__all__)}")
        return getattr(importlib.import_module(f"albert_tf.{_HOME_OF[name]}"), name)


def __dir__() -> list[str]:
    return list(__all__)
