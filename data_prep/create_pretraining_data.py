"""Makes pre-training records: text, one sentence a line, to masked and paired examples in TFRecord files.

create_pretraining_data --input_file=sentences.txt --output_file=records/train@16 --spm_model_file=vocabulary.model
"""

import dataclasses

from absl import flags

from albert_tf.official import unmatched_flags
from albert_tf.runtime import command, flag_help
from albert_tf.runtime.errors import InputError
from data_prep.job import record_flags

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
    from data_prep.examples.instances import InstanceSettings
    from data_prep.job.run import create_records
    from data_prep.job.settings import RecordJob
    from data_prep.text.text_reading import TextReading

    unmatched_flags.check_unmatched("create_pretraining_data", FLAGS)
    given = _values_of(InstanceSettings, but=("sentence_task",))
    if FLAGS.masking == "dynamic" and not FLAGS["dupe_factor"].present:
        given["dupe_factor"] = 1
    job = RecordJob(
        **_values_of(RecordJob),
        settings=InstanceSettings(**given, sentence_task=resolve_sentence_task(FLAGS)),
        reading=TextReading(**_values_of(TextReading)),
    )
    create_records(job)


def _values_of(kind, but: tuple[str, ...] = ()) -> dict:
    """The values of the flags that are named like attributes of a dataclass."""
    names = (field.name for field in dataclasses.fields(kind))
    return {name: FLAGS[name].value for name in names if name in FLAGS and name not in but}


main = command.entry_point(__name__, _run, required=("input_file", "output_file", "spm_model_file"))

if __name__ == "__main__":
    main()
