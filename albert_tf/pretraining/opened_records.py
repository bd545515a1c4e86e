"""The records of a run: opened, compared with each other and with what the flags say, before anything is built."""

from absl import logging

from albert_tf.config import AlbertConfig
from albert_tf.inputs.batch_parsing import resolve_masking
from albert_tf.inputs.pretraining_dataset import RecordSet, open_records
from albert_tf.inputs.reading import AS_MADE
from albert_tf.pretraining.settings import PretrainingSettings
from albert_tf.records.manifest import check_cleaning, check_vocabulary
from albert_tf.records.masking_rules import DYNAMIC
from albert_tf.records.names import SOP
from albert_tf.runtime.errors import InputError

# Of records that the official code made, or that lost their manifest.
UNCHECKED = "the records have no manifest: vocabulary and sentence task cannot be checked"
# Share of padding that is worth a word.
_MUCH_PADDING = 0.05


def check_length(settings: PretrainingSettings, config: AlbertConfig) -> None:
    """Refuses sequences that are longer than the model can take.

    Raises:
        InputError: they are.
    """
    if settings.max_seq_length > config.max_position_embeddings:
        raise InputError(
            f"--max_seq_length={settings.max_seq_length} exceeds max_position_embeddings="
            f"{config.max_position_embeddings} of {settings.albert_config_file}"
        )


def open_all_records(settings: PretrainingSettings, config: AlbertConfig) -> tuple[RecordSet, RecordSet | None]:
    """The records to train on, and those to evaluate on, None without --do_eval.

    Raises:
        InputError: whatever is wrong with them.
    """
    check_length(settings, config)
    lengths = (settings.max_seq_length, settings.max_predictions_per_seq, config.vocab_size)
    records = open_records(settings.input_file, *lengths)
    if resolve_masking(settings.masking, records.manifest) == DYNAMIC:
        logging.info("the records have no masks: they are drawn anew each epoch")
    elif settings.pack_sequences or any(stage.reading != AS_MADE for stage in settings.stages):
        raise InputError(
            "--length_schedule, --masked_lm_prob, --ngram and --pack_sequences want records that have no masks yet; "
            "make them with create_pretraining_data --masking=dynamic"
        )
    if not settings.pack_sequences:
        _tell_of_padding(records)
    _tell_of_nothing_masked(records, settings.masked_lm_prob)
    if not settings.do_eval:
        if settings.eval_input_file is not None:
            logging.warning("--eval_input_file is not read: without --do_eval nothing is evaluated")
        return records, None
    if settings.eval_input_file is None:
        logging.warning("no --eval_input_file: the evaluation reads --input_file, which the model is trained on")
        return records, records
    evaluation = open_records(settings.eval_input_file, *lengths, flag="eval_input_file")
    if records.manifest is not None and evaluation.manifest is not None:
        check_vocabulary(records.manifest.vocabulary, evaluation.manifest.vocabulary, "--eval_input_file")
        check_cleaning(records.manifest, evaluation.manifest, "--eval_input_file", "--input_file")
        tasks = records.manifest.sentence_task, evaluation.manifest.sentence_task
        if tasks[0] != tasks[1] and settings.sentence_task != "none":
            raise InputError(
                f"--eval_input_file: the records were made with --sentence_task={tasks[1]}, those of --input_file with "
                f"{tasks[0]}; give records of one task, or --sentence_task=none"
            )
    return records, evaluation


def _tell_of_padding(records: RecordSet) -> None:
    if records.manifest is None:
        return
    share = records.manifest.statistics.get("padding_share")
    if isinstance(share, float) and share > _MUCH_PADDING:
        remark = "--pack_sequences leaves less of it"
        if records.manifest.masking != DYNAMIC:
            remark = "records of create_pretraining_data --masking=dynamic can be read with --pack_sequences"
        logging.info("%.1f %% of the records' tokens are padding, computed for nothing; %s", 100 * share, remark)


def _tell_of_nothing_masked(records: RecordSet, masked_lm_prob: str | None) -> None:
    """Warns of records in which no word is to be predicted, unless the trainer masks more."""
    manifest = records.manifest
    if manifest is None or masked_lm_prob is not None:
        return
    drawn = manifest.masking == DYNAMIC and manifest.masking_parameters.get("masked_lm_prob") == 0
    if drawn or (manifest.masking != DYNAMIC and manifest.statistics.get("predictions") == 0):
        logging.warning("nothing is masked in the records: no words are learned, but the sentence task alone")


def resolve_sentence_task(flag: str | None, records: RecordSet) -> str:
    """Finds out what the sentence labels mean; without a manifest the flag's word, or sop, is taken.

    Raises:
        InputError: the records were made for a different task.
    """
    if records.manifest is None:
        logging.warning(UNCHECKED)
        return flag or SOP
    made_for = records.manifest.sentence_task
    if flag not in (None, "none", made_for):
        raise InputError(f"--sentence_task={flag}, but the records were made with --sentence_task={made_for}")
    return flag or made_for
