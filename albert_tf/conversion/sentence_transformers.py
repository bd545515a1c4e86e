"""Folders that sentence-transformers loads: a model of transformers, and how a text becomes one vector of it."""

from albert_tf.conversion.bert import is_bert
from albert_tf.conversion.checkpoint_format import CheckpointFormat
from albert_tf.conversion.hugging_face import HuggingFaceFormat
from albert_tf.conversion.hugging_face_bert import HuggingFaceBertFormat
from albert_tf.conversion.hugging_face_family import ALBERT, BERT, Family
from albert_tf.conversion.hugging_face_format import SavePretrainedFormat, find_family
from albert_tf.conversion.sentence_modules import has_modules, write_modules
from albert_tf.heads.pooling import USUAL_POOLING, Pooling
from albert_tf.tokenization.text_cleaning import OFFICIAL_CLEANING, TextCleaning

_ENCODER = "albert/"
_FORMATS: dict[str, type[SavePretrainedFormat]] = {
    ALBERT.format_name: HuggingFaceFormat,
    BERT.format_name: HuggingFaceBertFormat,
}


class SentenceTransformersFormat(CheckpointFormat):
    """Folders with an ALBERT or a BERT without heads, its tokenizer, and the steps from text to vector.

    Args:
        cleaning: of texts, for the tokenizer.
        pooling: how a text becomes one vector.
    """

    name = "sentence_transformers"
    title = "a sentence-transformers model"

    def __init__(self, cleaning: TextCleaning = OFFICIAL_CLEANING, pooling: Pooling = USUAL_POOLING):
        self.cleaning, self.pooling = cleaning, pooling

    def recognise(self, path):
        """Tells whether the path is a folder with modules.json and the weights of an ALBERT or a BERT."""
        return has_modules(path) and find_family(path) is not None

    def open(self, path, config_file=None):
        """Reads the model; its pooling is read where it is asked for."""
        return self._format(find_family(path)).open(path, config_file)

    def rows(self, config, names=()):
        """The names of transformers for the encoder, a BERT's where the model is one; of heads those that are there."""
        names = set(names)
        rows = self._format(BERT if is_bert(config) else ALBERT).rows(config, names)
        return [row for row in rows if row.theirs in names or getattr(row, "ours", _ENCODER).startswith(_ENCODER)]

    def encode(self, config, weights):
        """The encoder's weights; whatever stands on it, of a task too, is left out."""
        return super().encode(config, {name: array for name, array in weights.items() if name.startswith(_ENCODER)})

    def write(self, folder, config, arrays, vocabulary_file, task=None):
        """Writes the encoder as a bare AlbertModel or BertModel, its tokenizer, and the steps."""
        family = BERT if is_bert(config) else ALBERT
        known = task is not None and task.cleaning
        cleaning = TextCleaning(**known) if known else self.cleaning
        # First what may be refused.
        write_modules(folder, self.pooling, config.hidden_size, config.max_position_embeddings)
        bare = _FORMATS[family.format_name](f"{family.classes}Model", cleaning)
        bare.write(folder, config, arrays, vocabulary_file)

    def _format(self, family: Family | None) -> SavePretrainedFormat:
        return _FORMATS[(family or ALBERT).format_name]()


SENTENCE_TRANSFORMERS = SentenceTransformersFormat()
