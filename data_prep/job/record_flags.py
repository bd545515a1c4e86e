"""The flags of create_pretraining_data, official ones that mean nothing here aside."""

from absl import flags

from albert_tf.runtime.settings_flags import define_flags_of
from data_prep.examples.instances import InstanceSettings
from data_prep.job.settings import RecordJob
from data_prep.text import text_flags

_FILES = {
    "input_file": "Files and globs: a sentence a line, a blank line between documents; - for standard input.",
    "output_file": "A path, a comma list of paths, or path@64 for files path-00000-of-00064 and so on.",
    "spm_model_file": "The sentencepiece vocabulary (.model).",
    "compression": "Compression of the record files.",
    "overwrite": "Throw away what was made with other flags or of other text.",
    "dry_run": "Say how large the output will be and how long it will take, and stop.",
}
_DOCUMENTS = {"drop_duplicate_documents": "Take a document that stands in the corpus more than once only once."}
_EXAMPLES = {
    "max_seq_length": "Tokens in an example, padding included.",
    "dupe_factor": "Passes over the text, each with other pairs and masks.",
    "short_seq_prob": "Share of document passes that are cut into shorter examples.",
    "sentence_task": "In order or swapped (sop), of another document (nsp), one segment.",
    "random_seed": "Decides every draw.",
    "reference_quirks": "Do as the official code also where it is at fault; docs/data.md lists how.",
}
_MASKS = {
    "masking": "Masks in the records (static), or drawn anew each epoch by the trainer.",
    "max_predictions_per_seq": "Masked pieces in an example, at most.",
    "masked_lm_prob": "Share of an example's tokens to mask.",
    "ngram": "Longest run of words masked at once.",
    "favor_shorter_ngram": "Mask runs of n words with p(n) ~ 1/n; false: the same shares, longest first.",
    "do_whole_word_mask": "Mask all pieces of a word or none.",
}
_WORKERS = {
    "num_workers": "Processes; 0 for one a core. Any number writes the same bytes.",
    "shuffle_megabytes": "Memory for shuffling, of each worker.",
    "dask_scheduler": "Address of a Dask cluster (tcp://host:port) that works instead; needs the extra dask.",
    "task_index": "Which of --num_tasks runs this is, from 0: they share the work through the output's folder.",
    "num_tasks": "How many runs of the same command share the work.",
}


def define_record_flags(flag_values: flags.FlagValues) -> None:
    """Defines them, in groups; names and defaults are the official ones where the official code has the flag."""
    define_flags_of(RecordJob, "Input and output", _FILES, flag_values)
    text_flags.define_reading_flags(flag_values)
    define_flags_of(RecordJob, text_flags.READING_GROUP, _DOCUMENTS, flag_values)
    text_flags.define_cleaning_flags(flag_values)
    define_flags_of(InstanceSettings, "Examples", _EXAMPLES, flag_values)
    define_flags_of(InstanceSettings, "Masks", _MASKS, flag_values)
    define_flags_of(RecordJob, "Workers", _WORKERS, flag_values)
