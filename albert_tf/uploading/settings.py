"""Settings of a publication: known before anything heavy is imported."""

import dataclasses
import re
from typing import Annotated

from albert_tf.conversion.settings import HUGGING_FACE_ARCHITECTURES
from albert_tf.published.names import HUB, HubName, parse_hub_name
from albert_tf.runtime.errors import FlagError
from albert_tf.runtime.settings import OneOf, StrPath, check, described
from albert_tf.tokenization.text_cleaning import TextCleaning

# The hub's words for licences, apache-2.0 for example.
_LICENSE = re.compile(r"[a-z0-9][a-z0-9.+-]*")


@described
@dataclasses.dataclass(frozen=True, kw_only=True)
class PublicationSettings:
    """Settings of a publication on the Hugging Face hub."""

    input_dir: Annotated[StrPath, "A run's --output_dir, one checkpoint of it, or another format's."]
    repo: Annotated[str, "The repository, owner/name; made if it is not there."]
    output_dir: Annotated[StrPath | None, "Folder to write and keep; left out: a temporary one."] = None
    private: Annotated[bool, "Make a new repository that others cannot see."] = False
    revision: Annotated[str | None, "Branch to upload to, made if it is not there; left out: main."] = None
    license: Annotated[str | None, "The model's licence in the hub's words, such as apache-2.0; left out: none."] = None
    dry_run: Annotated[bool, "Write --output_dir and upload nothing."] = False
    albert_config_file: Annotated[StrPath | None, "The model's JSON file; left out: the checkpoint's own."] = None
    spm_model_file: Annotated[
        StrPath | None, "The vocabulary (.model, vocab.txt) to go along; left out: the one beside the checkpoint."
    ] = None
    allow_missing_heads: Annotated[bool, "Start pooler and heads afresh that --input_dir lacks."] = False
    hugging_face_architecture: Annotated[
        str | None, OneOf(*HUGGING_FACE_ARCHITECTURES), "The class of transformers; left out: that of the whole model."
    ] = None
    cleaning: Annotated[
        TextCleaning, "Of texts, as when the records were made; a fine-tuned checkpoint knows its own."
    ] = dataclasses.field(default_factory=TextCleaning)

    def __post_init__(self) -> None:
        check(self)
        if self.name.revision != self.revision:
            raise FlagError(f"--repo={self.repo}: give the branch by --revision")
        if self.license is not None and not _LICENSE.fullmatch(self.license):
            raise FlagError(f"--license must be a word of the hub, such as apache-2.0. Received {self.license!r}.")
        if self.dry_run and self.output_dir is None:
            raise FlagError("--dry_run writes a folder and nothing else; name it by --output_dir")

    @property
    def name(self) -> HubName:
        """The repository and the branch."""
        return parse_hub_name(
            HUB + self.repo.removeprefix(HUB) + ("" if self.revision is None else f"@{self.revision}")
        )
