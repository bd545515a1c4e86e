"""The formats' names, for flags: they are known before anything heavy is imported."""

FORMAT_NAMES = ["albert_tf", "official", "hugging_face", "keras_hub"]

# Classes of transformers that a checkpoint can be written for: pre-trained ones, then fine-tuned ones.
HUGGING_FACE_ARCHITECTURES = [
    *("AlbertForPreTraining", "AlbertForMaskedLM", "AlbertModel"),
    *("AlbertForSequenceClassification", "AlbertForTokenClassification"),
    *("AlbertForMultipleChoice", "AlbertForQuestionAnswering"),
]
