"""The flags of run_finetuning that a task goes by: lengths, files and columns, how text is cleaned."""

from absl import flags

from albert_tf.finetuning.settings import FinetuningSettings
from albert_tf.runtime.settings_flags import define_flags_of
from albert_tf.tasks.registry import TaskOptions
from albert_tf.tasks.task import TaskSettings
from albert_tf.tokenization.text_cleaning import TextCleaning

_SQUAD_AND_RACE = "SQuAD and RACE"
_LENGTHS = {"max_seq_length": "The most pieces of an example, or of a window over a text."}
_PADDING = {"pad_to_max_length": "Pad every batch to --max_seq_length, not to its bucket."}
_WINDOWS = {
    "max_query_length": "SQuAD: the most pieces of a question.",
    "doc_stride": "SQuAD: pieces between the starts of two windows over a text.",
    "max_answer_length": "SQuAD: the most pieces of an answer.",
    "n_best_size": "SQuAD: answers listed for each question.",
    "max_qa_length": "RACE: the most pieces of question and option together.",
}
_OWN_TASK = {
    "train_file": "Your own task: the training split.",
    "dev_file": "Your own task: the split to evaluate on.",
    "test_file": "Your own task: the split to predict.",
    "text_column": "Your own task: the column of the text.",
    "text_pair_column": "Your own task: the column of a second text.",
    "label_column": "Your own task: the column of the label.",
    "labels": "Your own task: the classes, comma-separated; left out: those found.",
    "multi_label": "Your own task: an example may have any number of classes.",
    "regression": "Your own task: the label is a number.",
}
_ANSWERS = {
    "beam": "SQuAD: choose the end given the start; left out: for squad_v2.",
    "null_score_diff_threshold": "squad_v2: odds of no answer above which it is given.",
    "race_level": "RACE: which schools.",
}
_CLEANING = {
    "do_lower_case": "Lower-case the text, as in pre-training.",
    "keep_accents": "Leave accents on their letters, as in pre-training.",
    "replace_quotes": "Turn `` and '' into \", as in pre-training.",
    "normalization": "Unicode form, as in pre-training.",
}


def define_task_flags(flag_values: flags.FlagValues) -> None:
    """Declares them."""
    define_flags_of(TaskSettings, "Lengths", _LENGTHS, flag_values)
    define_flags_of(FinetuningSettings, "Lengths", _PADDING, flag_values)
    define_flags_of(TaskSettings, _SQUAD_AND_RACE, _WINDOWS, flag_values)
    define_flags_of(TaskOptions, "A task of your own", _OWN_TASK, flag_values)
    define_flags_of(TaskOptions, _SQUAD_AND_RACE, _ANSWERS, flag_values)
    define_flags_of(TextCleaning, "Text cleaning", _CLEANING, flag_values)
