"""Makes pre-training records: text, one sentence a line, to masked and paired examples in TFRecord files."""

from absl import flags, logging

from albert_tf import command

FLAGS = flags.FLAGS


def define_flags(flag_values: flags.FlagValues = FLAGS) -> None:
    """Defines the flags of this command; names and defaults are the official ones where those exist."""
    values = {"flag_values": flag_values}
    flags.DEFINE_string(
        "input_file",
        None,
        "Comma list of text files and globs, plain, .gz or .xz: one sentence a line, a blank line between documents.",
        **values,
    )
    flags.DEFINE_string(
        "output_file",
        None,
        "Where the records go: a path, a comma list of paths, or path@64 for 64 files path-00000-of-00064 and so on.",
        **values,
    )
    flags.DEFINE_string("spm_model_file", None, "The sentencepiece vocabulary (.model).", **values)
    flags.DEFINE_string("vocab_file", None, "Accepted for old command lines; not used.", **values)
    flags.DEFINE_integer("max_seq_length", 512, "Tokens in an example, padding included.", **values)
    flags.DEFINE_integer("max_predictions_per_seq", 20, "Masked pieces in an example, at most.", **values)
    flags.DEFINE_integer("dupe_factor", 40, "Passes over the text, each with other pairs and masks.", **values)
    flags.DEFINE_float("masked_lm_prob", 0.15, "Share of an example's tokens to mask.", **values)
    flags.DEFINE_float("short_seq_prob", 0.1, "Share of document passes cut into shorter examples.", **values)
    flags.DEFINE_integer("ngram", 3, "Longest run of words masked at once.", **values)
    flags.DEFINE_bool("favor_shorter_ngram", True, "Mask n words with p(n) ~ 1/n; false: longest first.", **values)
    flags.DEFINE_bool("do_whole_word_mask", True, "Mask all pieces of a word or none.", **values)
    flags.DEFINE_bool(
        "do_permutation", False, "Not supported: doubles the predictions in a form no trainer reads.", **values
    )
    flags.DEFINE_enum(
        "sentence_task",
        "sop",
        ["sop", "nsp", "none"],
        "sop: are two segments of a document in order "
        "or swapped; nsp: is the second of another document; none: one segment.",
        **values,
    )
    flags.DEFINE_bool("random_next_sentence", None, "The official way to say --sentence_task=nsp.", **values)
    flags.DEFINE_integer("random_seed", 12345, "Decides every draw.", **values)
    flags.DEFINE_bool(
        "reference_quirks",
        False,
        "Do as the official code does also where it is at fault; docs/data.md lists how.",
        **values,
    )
    flags.DEFINE_bool("do_lower_case", True, "Lower-case the text.", **values)
    flags.DEFINE_bool("keep_accents", False, "Leave accents on their letters.", **values)
    flags.DEFINE_enum("normalization", "NFKD", ["NFKD", "NFKC"], "Unicode form of the text.", **values)
    flags.DEFINE_bool("replace_quotes", False, "Turn `` and '' into \".", **values)
    flags.DEFINE_enum("compression", "none", ["none", "gzip"], "Compression of the record files.", **values)
    flags.DEFINE_integer("num_workers", 0, "Processes; 0 for one a core. The output is the same.", **values)


def main() -> None:
    """Entry point of the console script."""
    define_flags()
    command.run(_run)


def sentence_task_of_flags(flag_values: flags.FlagValues) -> str:
    """The task that --sentence_task and the official --random_next_sentence name together.

    Raises:
        InputError: they contradict each other.
    """
    from albert_tf.errors import InputError

    task, random_next = flag_values.sentence_task, flag_values.random_next_sentence
    chosen = flag_values["sentence_task"].present
    if random_next is None or (task == "nsp") == random_next:
        return task
    if random_next and not chosen:
        return "nsp"
    if not random_next and task != "nsp":
        return task
    raise InputError(
        f"--random_next_sentence={str(random_next).lower()} contradicts --sentence_task={task}; leave one of them out"
    )


def _run() -> None:
    from albert_tf.errors import InputError
    from data_prep.instances import InstanceSettings
    from data_prep.record_writer import RecordJob, create_records

    command.require_flags("input_file", "output_file", "spm_model_file")
    if FLAGS.do_permutation:
        raise InputError(
            "--do_permutation=true is not supported: it doubles the predictions of a record, which no "
            "released trainer reads; leave it out"
        )
    if FLAGS.vocab_file:
        logging.info("--vocab_file is not used: --spm_model_file holds the vocabulary")
    settings = InstanceSettings(
        **{
            name: getattr(FLAGS, name)
            for name in (
                "max_seq_length",
                "max_predictions_per_seq",
                "dupe_factor",
                "masked_lm_prob",
                "short_seq_prob",
                "ngram",
                "favor_shorter_ngram",
                "do_whole_word_mask",
                "random_seed",
                "reference_quirks",
            )
        },
        sentence_task=sentence_task_of_flags(FLAGS),
    )
    create_records(
        RecordJob(
            settings=settings,
            **{
                name: getattr(FLAGS, name)
                for name in (
                    "input_file",
                    "output_file",
                    "spm_model_file",
                    "do_lower_case",
                    "keep_accents",
                    "normalization",
                    "replace_quotes",
                    "compression",
                    "num_workers",
                )
            },
        )
    )


if __name__ == "__main__":
    main()
