"""The flags of run_finetuning that a task goes by: lengths, files and columns, how text is cleaned."""

from absl import flags

from albert_tf.runtime import flag_help


def define_task_flags(flag_values: flags.FlagValues) -> None:
    """Declares them."""
    fv = {"flag_values": flag_values}
    flag_help.begin_group("Lengths", flag_values)
    flags.DEFINE_integer("max_seq_length", 512, "The most pieces of an example, or of a window over a text.", **fv)
    flags.DEFINE_bool("pad_to_max_length", False, "Pad every batch to --max_seq_length, not to its bucket.", **fv)
    flag_help.begin_group("SQuAD and RACE", flag_values)
    flags.DEFINE_integer("max_query_length", 64, "SQuAD: the most pieces of a question.", **fv)
    flags.DEFINE_integer("doc_stride", 128, "SQuAD: pieces between the starts of two windows over a text.", **fv)
    flags.DEFINE_integer("max_answer_length", 30, "SQuAD: the most pieces of an answer.", **fv)
    flags.DEFINE_integer("n_best_size", 20, "SQuAD: answers listed for each question.", **fv)
    flags.DEFINE_integer("max_qa_length", 128, "RACE: the most pieces of question and option together.", **fv)
    flag_help.begin_group("A task of your own", flag_values)
    flags.DEFINE_string("train_file", None, "Your own task: the training split.", **fv)
    flags.DEFINE_string("dev_file", None, "Your own task: the split to evaluate on.", **fv)
    flags.DEFINE_string("test_file", None, "Your own task: the split to predict.", **fv)
    flags.DEFINE_string("text_column", None, "Your own task: the column of the text.", **fv)
    flags.DEFINE_string("text_pair_column", None, "Your own task: the column of a second text.", **fv)
    flags.DEFINE_string("label_column", None, "Your own task: the column of the label.", **fv)
    flags.DEFINE_list("labels", None, "Your own task: the classes, comma-separated; left out: those found.", **fv)
    flags.DEFINE_bool("multi_label", False, "Your own task: an example may have any number of classes.", **fv)
    flags.DEFINE_bool("regression", False, "Your own task: the label is a number.", **fv)
    flag_help.begin_group("SQuAD and RACE", flag_values)
    flags.DEFINE_bool("beam", None, "SQuAD: choose the end given the start; left out: for squad_v2.", **fv)
    flags.DEFINE_float("null_score_diff_threshold", None, "squad_v2: odds of no answer above which it is given.", **fv)
    flags.DEFINE_enum("race_level", "all", ["all", "middle", "high"], "RACE: which schools.", **fv)
    flag_help.begin_group("Text cleaning", flag_values)
    flags.DEFINE_bool("do_lower_case", True, "Lower-case the text, as in pre-training.", **fv)
    flags.DEFINE_bool("keep_accents", False, "Leave accents on their letters, as in pre-training.", **fv)
    flags.DEFINE_bool("replace_quotes", False, "Turn `` and '' into \", as in pre-training.", **fv)
    flags.DEFINE_enum("normalization", "NFKD", ["NFKD", "NFKC"], "Unicode form, as in pre-training.", **fv)
