"""Makes pre-training records: text, one sentence a line, to masked and paired examples in TFRecord files."""

from absl import flags, logging

from albert_tf import command
from albert_tf.errors import InputError
from data_prep import text_flags

FLAGS = flags.FLAGS

# Flags by what takes them; names and defaults are the official ones where the official code has the flag.
_SETTINGS = {
    "max_seq_length": (512, "Tokens in an example, padding included."),
    "max_predictions_per_seq": (20, "Masked pieces in an example, at most."),
    "dupe_factor": (40, "Passes over the text, each with other pairs and masks."),
    "masked_lm_prob": (0.15, "Share of an example's tokens to mask."),
    "short_seq_prob": (0.1, "Share of document passes that are cut into shorter examples."),
    "ngram": (3, "Longest run of words masked at once."),
    "favor_shorter_ngram": (True, "Mask runs of n words with p(n) ~ 1/n; false: the same shares, longest first."),
    "do_whole_word_mask": (True, "Mask all pieces of a word or none."),
    "random_seed": (12345, "Decides every draw."),
    "reference_quirks": (False, "Do as the official code also where it is at fault; docs/data.md lists how."),
}
_JOB = {
    "input_file": (None, "Files and globs: a sentence a line, a blank line between documents; - for standard input."),
    "output_file": (None, "A path, a comma list of paths, or path@64 for files path-00000-of-00064 and so on."),
    "spm_model_file": (None, "The sentencepiece vocabulary (.model)."),
    "replace_quotes": (False, "Turn `` and '' into \"."),
    "drop_duplicate_documents": (False, "Take a document that stands in the corpus more than once only once."),
    "shuffle_megabytes": (64, "Memory for shuffling, of each worker."),
    "num_workers": (0, "Processes; 0 for one a core. Any number writes the same bytes."),
    "dask_scheduler": (None, "Address of a Dask cluster (tcp://host:port) that works instead; needs the extra dask."),
    "task_index": (0, "Which of --num_tasks runs this is, from 0: they share the work through the output's folder."),
    "num_tasks": (1, "How many runs of the same command share the work."),
    "overwrite": (False, "Throw away what was made with other flags or of other text."),
    "dry_run": (False, "Say how large the output will be and how long it will take, and stop."),
}
_CHOICES = {
    "sentence_task": (["sop", "nsp", "none"], "In order or swapped (sop), of another document (nsp), one segment."),
    "masking": (["static", "dynamic"], "Masks in the records (static), or drawn anew each epoch by the trainer."),
    "compression": (["none", "gzip"], "Compression of the record files."),
    "input_format": (["auto", "text", "jsonl", "parquet"], "What the input is; auto: by the ending of each file."),
    "headings": (["drop", "keep"], "Headings (paragraphs of .jsonl that start with '# '): leave out, or a sentence."),
    "blank_line": (["document", "paragraph"], "What a blank line in raw .txt ends."),
}
_OFFICIAL = {
    "random_next_sentence": (flags.DEFINE_bool, "The official way to say --sentence_task=nsp."),
    "vocab_file": (flags.DEFINE_string, "Accepted for official command lines; not used."),
    "do_permutation": (flags.DEFINE_bool, "Accepted for official command lines; only false is supported."),
}
_DEFINE = {bool: flags.DEFINE_bool, int: flags.DEFINE_integer, float: flags.DEFINE_float}


def define_flags(flag_values: flags.FlagValues = FLAGS) -> None:
    """Defines the flags of this command."""
    for name, (default, help_text) in {**_JOB, **_SETTINGS}.items():
        define = _DEFINE.get(type(default), flags.DEFINE_string)
        define(name, default, help_text, flag_values=flag_values)
    text_flags.define_text_flags(flag_values)
    for name, (choices, help_text) in _CHOICES.items():
        flags.DEFINE_enum(name, choices[0], choices, help_text, flag_values=flag_values)
    for name, (define, help_text) in _OFFICIAL.items():
        define(name, None, help_text, flag_values=flag_values)


def main() -> None:
    """Entry point of the console script."""
    define_flags()
    command.run(_run)


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
    from data_prep.documents import TextReading
    from data_prep.instances import InstanceSettings
    from data_prep.record_job import RecordJob
    from data_prep.record_writer import create_records

    command.require_flags("input_file", "output_file", "spm_model_file")
    if FLAGS.do_permutation:
        raise InputError(
            "--do_permutation=true is not supported: no released trainer reads records of twice the predictions; "
            "leave it out"
        )
    if FLAGS.vocab_file:
        logging.info("--vocab_file is not used: --spm_model_file holds the vocabulary")
    given = {name: FLAGS[name].value for name in (*_SETTINGS, "masking")}
    if FLAGS.masking == "dynamic" and not FLAGS["dupe_factor"].present:
        given["dupe_factor"] = 1
    settings = InstanceSettings(**given, sentence_task=resolve_sentence_task(FLAGS))
    reading_names = (*text_flags.READING, "input_format", "headings", "blank_line")
    job = RecordJob(
        **{name: FLAGS[name].value for name in _JOB},
        **text_flags.values_of(text_flags.CLEANING, FLAGS),
        settings=settings,
        reading=TextReading(**{name: FLAGS[name].value for name in reading_names}),
        compression=FLAGS.compression,
    )
    create_records(job)


if __name__ == "__main__":
    main()
