"""Folders of Hugging Face's save_pretrained of a BERT, pre-trained models and fine-tuned ones, without torch.

A sentence-transformers model keeps its BERT in the same files: all-MiniLM-L6-v2 is a bare BertModel.
"""

from types import MappingProxyType

from albert_tf.config import AlbertConfig
from albert_tf.conversion import hugging_face_config, official_bert
from albert_tf.conversion.bert import check_is_bert
from albert_tf.conversion.hugging_face_family import BERT
from albert_tf.conversion.hugging_face_format import SavePretrainedFormat, find_family
from albert_tf.conversion.hugging_face_rows import family_rows
from albert_tf.records.names import NSP
from albert_tf.tokenization.text_cleaning import OFFICIAL_CLEANING
from albert_tf.tokenization.vocabulary_file import WORD_PIECE_NAME


class HuggingFaceBertFormat(SavePretrainedFormat):
    """Folders of a BERT, and its vocabulary."""

    name = BERT.format_name
    title = BERT.title
    sentence_task = NSP
    family = BERT
    # The second lies beside the first files for torch, of pytorch-pretrained-bert.
    config_names = (hugging_face_config.CONFIG_NAME, official_bert.CONFIG_NAME)
    usual_vocabulary = WORD_PIECE_NAME
    special_ids = MappingProxyType({"pad_token_id": 0})

    def recognise(self, path):
        """Tells whether the path is, or holds, weights of a BERT, by its config.json or by their names."""
        return find_family(path) is BERT

    def rows(self, config, names=()):
        """The names of all their models."""
        check_is_bert(config, self.title)
        return family_rows(BERT, config)


HUGGING_FACE_BERT = HuggingFaceBertFormat()


def load_hugging_face_bert(path: str, config: AlbertConfig | None = None, allow_missing_heads: bool = False):
    """Reads a BERT that save_pretrained wrote, or the one in a sentence-transformers model, into a new model.

    Arguments, result and errors are those of load_hugging_face.
    """
    return HUGGING_FACE_BERT.load(path, config, allow_missing_heads)


def save_hugging_face_bert(
    model, folder: str, vocabulary_file=None, architecture=None, task=None, cleaning=OFFICIAL_CLEANING
) -> None:
    """Writes a model that is a BERT as save_pretrained would: layers that share nothing, one block each, E = H.

    Arguments and errors are those of save_hugging_face; architectures are "BertForMaskedLM", "BertModel" and so on.
    """
    HuggingFaceBertFormat(architecture, cleaning).save(model, folder, vocabulary_file, task)
