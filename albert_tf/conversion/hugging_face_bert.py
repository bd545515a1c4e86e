"""Folders of Hugging Face's save_pretrained of a BERT, pre-trained models and fine-tuned ones, without torch.

A sentence-transformers model keeps its BERT in the same files: all-MiniLM-L6-v2 is a bare BertModel.
"""

from types import MappingProxyType

from albert_tf.checkpoints.finetuned_task import FinetunedTask
from albert_tf.config import AlbertConfig
from albert_tf.conversion import hugging_face_config, official_bert
from albert_tf.conversion.bert import check_is_bert
from albert_tf.conversion.hugging_face_family import BERT
from albert_tf.conversion.hugging_face_format import SavePretrainedFormat, find_family
from albert_tf.conversion.hugging_face_rows import family_rows
from albert_tf.records.names import NSP
from albert_tf.tokenization.text_cleaning import OFFICIAL_CLEANING, TextCleaning
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
    """Reads what transformers' save_pretrained wrote of a BERT into a new model, and prints what was found.

    Args:
        path: the folder, a sentence-transformers model's too, or a .safetensors or .bin file in it (.bin needs torch).
        config: of the model, with parameter_sharing "none" and embedding_size = hidden_size; None reads config.json
            beside the weights.
        allow_missing_heads: whether pooler and heads that BertModel or BertForMaskedLM lack start afresh.

    Returns:
        AlbertForPretraining, or for a fine-tuned model the one of models.finetuning that it is; its `load_report` says
        what was matched, missing and left out.

    Raises:
        InputError: no such checkpoint, a damaged one, a model of a different kind, or tensors missing, left over or of
            a different shape.
    """
    return HUGGING_FACE_BERT.load(path, config, allow_missing_heads)


def save_hugging_face_bert(
    model,
    folder: str,
    vocabulary_file: str | None = None,
    architecture: str | None = None,
    task: FinetunedTask | None = None,
    cleaning: TextCleaning = OFFICIAL_CLEANING,
) -> None:
    """Writes a model as transformers' save_pretrained would write a BERT, for its from_pretrained to read.

    Args:
        model: an AlbertForPretraining or a fine-tuned model, with parameters of its own in every layer, one block in
            each, and embedding_size = hidden_size.
        folder: to make; absent or empty.
        vocabulary_file: to go along, so that AutoTokenizer.from_pretrained works as well.
        architecture: a class of transformers, such as "BertForMaskedLM" (no pooler, no head for pairs of sentences) or
            "BertModel" (no heads); None takes the one that holds the whole model.
        task: what a fine-tuned model was trained for.
        cleaning: of texts before they meet the vocabulary; that of a fine-tuned model's task comes first.

    Raises:
        InputError: the model is no BERT, there is no such architecture, or the folder holds something.
    """
    HuggingFaceBertFormat(architecture, cleaning).save(model, folder, vocabulary_file, task)
