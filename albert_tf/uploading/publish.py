"""A model to the Hugging Face hub: converted as convert_checkpoint does, with a card, and uploaded."""

import contextlib
import dataclasses
import os
import shutil
import tempfile
from collections.abc import Iterator

from absl import logging

import albert_tf
from albert_tf.checkpoints.finetuned_task import FinetunedTask
from albert_tf.conversion import hugging_face_config
from albert_tf.conversion.checkpoint_format import check_output
from albert_tf.conversion.converter import convert
from albert_tf.conversion.hugging_face import HUGGING_FACE
from albert_tf.conversion.hugging_face_family import ALBERT, BERT
from albert_tf.conversion.hugging_face_tokenizer import folder_cleaning
from albert_tf.conversion.pretrained import open_checkpoint
from albert_tf.conversion.sentence_transformers import SENTENCE_TRANSFORMERS
from albert_tf.conversion.settings import ConversionSettings
from albert_tf.heads.pooling import Pooling
from albert_tf.published.hub_upload import check_sign_in, upload
from albert_tf.published.names import HubName
from albert_tf.published.needed_files import VOCABULARY_NAME
from albert_tf.runtime import files
from albert_tf.runtime.errors import InputError
from albert_tf.tokenization.text_cleaning import OFFICIAL_CLEANING, TextCleaning, agreed_cleaning
from albert_tf.uploading.model_card import CardFacts, model_card
from albert_tf.uploading.provenance import Provenance, find_provenance
from albert_tf.uploading.settings import PublicationSettings

CARD_NAME = "README.md"


def publish(settings: PublicationSettings) -> str | None:
    """Writes the folder of a model as transformers has it, with its card, and uploads it.

    A model for vectors of texts goes as sentence-transformers has it, without heads.

    Returns:
        the address of the commit; None after a dry run.

    Raises:
        InputError: no checkpoint there, one that transformers has no place for, an output_dir that holds something, no
            token, no right to the repository, or no network.
        OSError: no room, or no right to write.
    """
    name, input_dir = settings.name, os.fspath(settings.input_dir)
    output_dir = None if settings.output_dir is None else os.fspath(settings.output_dir)
    if output_dir is not None:
        check_output(output_dir)
    if not settings.dry_run:
        check_sign_in(name)
    provenance = find_provenance(input_dir)
    known = open_checkpoint(input_dir, _text_of(settings.albert_config_file))[1]
    _check_cleaning(agreed_cleaning(settings.cleaning, known.cleaning, input_dir), provenance)
    if known.pooling is not None and settings.hugging_face_architecture is not None:
        raise InputError(
            f"{input_dir} makes vectors of texts ({known.pooling}) and goes to the hub as {SENTENCE_TRANSFORMERS.title}"
            ", which says so; leave --hugging_face_architecture out"
        )
    with tempfile.TemporaryDirectory() as place:
        folder = os.path.join(place, "model")
        conversion = ConversionSettings(
            input=input_dir,
            output=folder,
            to_format=(HUGGING_FACE if known.pooling is None else SENTENCE_TRANSFORMERS).name,
            albert_config_file=_text_of(settings.albert_config_file),
            spm_model_file=_text_of(settings.spm_model_file),
            allow_missing_heads=settings.allow_missing_heads,
            hugging_face_architecture=settings.hugging_face_architecture,
            cleaning=settings.cleaning,
        )
        convert(conversion)
        write_card(folder, name, provenance, known.task, settings.license, settings.cleaning, known.pooling)
        if output_dir is not None:
            with files.replace_folder(output_dir) as temporary:
                shutil.copytree(folder, temporary, dirs_exist_ok=True)
            logging.info("wrote %s", output_dir)
        return None if settings.dry_run else upload(folder, name, settings.private, _MESSAGE)


_MESSAGE = f"Upload a model of albert_tf {albert_tf.__version__}"


def _check_cleaning(cleaning: TextCleaning, provenance: Provenance) -> None:
    """Raises InputError if the records of a run were cleaned in another way than the tokenizer would clean texts."""
    if provenance.manifest is None or provenance.state is None or provenance.state.task is not None:
        return
    made_with = provenance.manifest.flags
    for name, value in dataclasses.asdict(cleaning).items():
        if made_with.get(name, value) != value:
            raise InputError(
                f"--{name} is {value!r}, the records that the model was trained on were made with {made_with[name]!r}; "
                "give the same"
            )


def write_card(
    folder: str,
    name: HubName,
    provenance: Provenance,
    task: FinetunedTask | None,
    license: str | None = None,
    cleaning: TextCleaning = OFFICIAL_CLEANING,
    pooling: Pooling | None = None,
) -> None:
    """Writes the card of a model into its folder.

    Args:
        folder: as transformers has it, with its config.json.
        name: where the model is to lie.
        provenance: what is known of it.
        task: what it was fine-tuned for, or None.
        license: in the hub's words, or None.
        cleaning: of texts; that of a fine-tuned model's task comes first.
        pooling: how it makes one vector of a text, of a model for that.
    """
    config_path = os.path.join(folder, hugging_face_config.CONFIG_NAME)
    architecture = files.read_json(config_path)["architectures"][0]
    of_task = task is not None and task.cleaning
    facts = CardFacts(
        repository=name.repository,
        version=albert_tf.__version__,
        config=hugging_face_config.read_config(config_path, BERT if architecture.startswith("Bert") else ALBERT),
        architecture=architecture,
        has_vocabulary=files.exists(os.path.join(folder, VOCABULARY_NAME)),
        provenance=provenance,
        task=task,
        license=license,
        # What the tokenizer beside it does, where there is one.
        cleaning=folder_cleaning(folder) or (TextCleaning(**task.cleaning) if of_task else cleaning),
        pooling=pooling,
    )
    with files.replace_file(os.path.join(folder, CARD_NAME)) as file:
        file.write(model_card(facts).encode())


@contextlib.contextmanager
def uploaded_folder(
    name: HubName, task: FinetunedTask | None, cleaning: TextCleaning = OFFICIAL_CLEANING
) -> Iterator[str]:
    """Uploads what a block writes into a new folder, after the block, with a card of the model alone.

    Args:
        name: where the model is to lie.
        task: what it was fine-tuned for, or None.
        cleaning: of texts; that of a fine-tuned model's task comes first.

    Yields:
        the path of the folder, which is not there yet.

    Raises:
        InputError: no token, no right to the repository, or no network.
    """
    check_sign_in(name)
    with tempfile.TemporaryDirectory() as place:
        folder = os.path.join(place, "model")
        yield folder
        write_card(folder, name, Provenance(), task, cleaning=cleaning)
        upload(folder, name, False, _MESSAGE)


def _text_of(path: str | os.PathLike[str] | None) -> str | None:
    return None if path is None else os.fspath(path)
