"""Makes pre-training records: text, one sentence a line, to masked and paired examples in TFRecord files.

create_pretraining_data --input_file=sentences.txt --output_file=records/train@16 --spm_model_file=vocabulary.model
"""

from absl import flags

from albert_tf.official import unmatched_flags
from albert_tf.runtime import command, flag_help
from albert_tf.runtime.errors import InputError
from albert_tf.runtime.settings_flags import values_of
from data_prep.examples.instances import InstanceSettings
from data_prep.job import record_flags
from data_prep.job.settings import RecordJob
from data_prep.text.text_reading import TextReading

FLAGS = flags.FLAGS


def define_flags(flag_values: flags.FlagValues = FLAGS) -> None:
    """Defines the flags of this command."""
    record_flags.define_record_flags(flag_values)
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
    raise InputError(
        f"--random_next_sentence={str(random_next).lower()} contradicts --sentence_task={task}; leave one of them out"
    )


def _run() -> None:
    from data_prep.job.run import create_records

    unmatched_flags.check_unmatched("create_pretraining_data", FLAGS)
    given = values_of(InstanceSettings, FLAGS, but=("sentence_task",))
    if FLAGS.masking == "dynamic" and not FLAGS["dupe_factor"].present:
        given["dupe_factor"] = 1
    job = RecordJob(
        **values_of(RecordJob, FLAGS),
        settings=InstanceSettings(**given, sentence_task=resolve_sentence_task(FLAGS)),
        reading=TextReading(**values_of(TextReading, FLAGS)),
    )
    create_records(job)


main = command.entry_point(__name__, _run, required=("input_file", "output_file", "spm_model_file"))

if __name__ == "__main__":
    main()
