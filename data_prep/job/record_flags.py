"""The flags of create_pretraining_data, official ones that mean nothing here aside."""

from absl import flags

from albert_tf.runtime import flag_help
from data_prep.text import text_flags

# Flags by their groups; names and defaults are the official ones where the official code has the flag. A list holds the
# choices of a flag, the first of which is its default.
_FLAGS = {
    "Input and output": {
        "input_file": (
            None,
            "Files and globs: a sentence a line, a blank line between documents; - for standard input.",
        ),
        "output_file": (None, "A path, a comma list of paths, or path@64 for files path-00000-of-00064 and so on."),
        "spm_model_file": (None, "The sentencepiece vocabulary (.model)."),
        "compression": (["none", "gzip"], "Compression of the record files."),
        "overwrite": (False, "Throw away what was made with other flags or of other text."),
        "dry_run": (False, "Say how large the output will be and how long it will take, and stop."),
    },
    text_flags.READING_GROUP: {
        "drop_duplicate_documents": (False, "Take a document that stands in the corpus more than once only once."),
    },
    text_flags.CLEANING_GROUP: {"replace_quotes": (False, "Turn `` and '' into \".")},
    "Examples": {
        "max_seq_length": (512, "Tokens in an example, padding included."),
        "dupe_factor": (40, "Passes over the text, each with other pairs and masks."),
        "short_seq_prob": (0.1, "Share of document passes that are cut into shorter examples."),
        "sentence_task": (["sop", "nsp", "none"], "In order or swapped (sop), of another document (nsp), one segment."),
        "random_seed": (12345, "Decides every draw."),
        "reference_quirks": (False, "Do as the official code also where it is at fault; docs/data.md lists how."),
    },
    "Masks": {
        "masking": (["static", "dynamic"], "Masks in the records (static), or drawn anew each epoch by the trainer."),
        "max_predictions_per_seq": (20, "Masked pieces in an example, at most."),
        "masked_lm_prob": (0.15, "Share of an example's tokens to mask."),
        "ngram": (3, "Longest run of words masked at once."),
        "favor_shorter_ngram": (True, "Mask runs of n words with p(n) ~ 1/n; false: the same shares, longest first."),
        "do_whole_word_mask": (True, "Mask all pieces of a word or none."),
    },
    "Workers": {
        "num_workers": (0, "Processes; 0 for one a core. Any number writes the same bytes."),
        "shuffle_megabytes": (64, "Memory for shuffling, of each worker."),
        "dask_scheduler": (
            None,
            "Address of a Dask cluster (tcp://host:port) that works instead; needs the extra dask.",
        ),
        "task_index": (
            0,
            "Which of --num_tasks runs this is, from 0: they share the work through the output's folder.",
        ),
        "num_tasks": (1, "How many runs of the same command share the work."),
    },
}
_DEFINE = {bool: flags.DEFINE_bool, int: flags.DEFINE_integer, float: flags.DEFINE_float}


def define_record_flags(flag_values: flags.FlagValues) -> None:
    """Defines them, in groups."""
    for title, table in _FLAGS.items():
        flag_help.begin_group(title, flag_values)
        for name, (default, help_text) in table.items():
            if isinstance(default, list):
                flags.DEFINE_enum(name, default[0], default, help_text, flag_values=flag_values)
            else:
                define = _DEFINE.get(type(default), flags.DEFINE_string)
                define(name, default, help_text, flag_values=flag_values)
    text_flags.define_text_flags(flag_values)
