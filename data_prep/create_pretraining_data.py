"""Makes pre-training records: text, one sentence a line, to masked and paired examples in TFRecord files.

create_pretraining_data --input_file=sentences.txt --output_file=records/train@16 --spm_model_file=vocabulary.model
"""

from absl import flags

from albert_tf.official import unmatched_flags
from albert_tf.runtime import command, flag_help
from albert_tf.runtime.errors import FlagError
from albert_tf.runtime.settings_flags import define_flags_of, values_of
from albert_tf.tokenization.text_cleaning import TextCleaning
from data_prep.examples.instances import InstanceSettings
from data_prep.job.settings import RecordJob
from data_prep.text.text_reading import TextReading

FLAGS = flags.FLAGS
# What its flags are the fields of.
SETTINGS = (RecordJob, InstanceSettings, TextReading, TextCleaning)

# Names and defaults are the official ones where the official code has the flag.
_FILES = ("input_file", "output_file", "spm_model_file", "compression", "overwrite", "dry_run")
_EXAMPLES = (*("max_seq_length", "dupe_factor", "short_seq_prob", "sentence_task", "random_seed", "reference_quirks"),)
_MASKS = (
    *("masking", "max_predictions_per_seq", "masked_lm_prob", "ngram", "favor_shorter_ngram", "do_whole_word_mask"),
    "word_boundaries",
)
_WORKERS = ("num_workers", "shuffle_megabytes", "dask_scheduler", "task_index", "num_tasks")


def define_flags(flag_values: flags.FlagValues = FLAGS) -> None:
    """Defines the flags of this command."""
    define_flags_of(RecordJob, "Input and output", flag_values, _FILES)
    define_flags_of(TextReading, "Reading text", flag_values)
    define_flags_of(RecordJob, "Reading text", flag_values, ["drop_duplicate_documents"])
    define_flags_of(TextCleaning, "Cleaning text", flag_values)
    define_flags_of(InstanceSettings, "Examples", flag_values, _EXAMPLES)
    define_flags_of(InstanceSettings, "Masks", flag_values, _MASKS)
    define_flags_of(RecordJob, "Workers", flag_values, _WORKERS)
    flag_help.begin_group("Official command lines", flag_values)
    text = "The official way to say --sentence_task=nsp."
    flags.DEFINE_bool("random_next_sentence", None, text, flag_values=flag_values)
    unmatched_flags.define_unmatched("create_pretraining_data", flag_values)


def resolve_sentence_task(flag_values: flags.FlagValues) -> str:
    """The task that --sentence_task and --random_next_sentence name; InputError if they contradict each other."""
    task, random_next = flag_values.sentence_task, flag_values.random_next_sentence
    if random_next is None or random_next == (task == "nsp"):
        return task
    if random_next and not flag_values["sentence_task"].present:
        return "nsp"
    raise FlagError(
        f"--random_next_sentence={str(random_next).lower()} contradicts --sentence_task={task}; leave one of them out"
    )


def _run() -> None:
    from data_prep.job.run import create_records

    unmatched_flags.check_unmatched("create_pretraining_data", FLAGS)
    given = values_of(InstanceSettings, FLAGS, but=("sentence_task",))
    if FLAGS.masking == "dynamic" and not FLAGS["dupe_factor"].present:
        given["dupe_factor"] = 1
    # As the official tokenizer takes it: WordPiece, where no sentencepiece model is given, or "".
    if not FLAGS.spm_model_file:
        FLAGS.spm_model_file = FLAGS.vocab_file
    job = RecordJob(
        **values_of(RecordJob, FLAGS),
        settings=InstanceSettings(**given, sentence_task=resolve_sentence_task(FLAGS)),
        reading=TextReading(**values_of(TextReading, FLAGS)),
        cleaning=TextCleaning(**values_of(TextCleaning, FLAGS)),
    )
    create_records(job)


main = command.entry_point(__name__, _run, required=("input_file", "output_file", ("spm_model_file", "vocab_file")))

if __name__ == "__main__":
    main()
