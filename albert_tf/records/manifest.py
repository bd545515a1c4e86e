"""The manifest: a JSON file beside a set of record files that says what they hold and how they were made.

It is named BASE.manifest.json, holds no time, no absolute path and nothing about the machine, so that the same
flags give the same bytes. The trainer compares its lengths, vocabulary and task with its own flags. docs/data.md
describes each field.
"""

import dataclasses
import json
import os
from collections.abc import Sequence
from typing import Any

from albert_tf.records.manifest_fields import DIGEST, digest_of, find_fault
from albert_tf.records.masking_rules import (
    DYNAMIC,
    MASKINGS,
    STATIC,
    masking_from_json,
)
from albert_tf.runtime import files
from albert_tf.runtime.errors import InputError
from albert_tf.runtime.json_text import to_json_bytes
from albert_tf.tokenization.text_cleaning import OFFICIAL_CLEANING

MANIFEST_SUFFIX = ".manifest.json"
FORMAT = "albert_tf pre-training records"
FORMAT_VERSION = 1


@dataclasses.dataclass(frozen=True)
class Manifest:
    """The contents of a set of pre-training records.

    Attributes:
        files: {"name" (no folder), "examples", "bytes", "sha256"} of each record file, in order.
        num_examples: records in all files together.
        max_seq_length: S, token ids a record holds, padding included.
        max_predictions_per_seq: P, masked positions a record holds, padding included.
        sentence_task: "sop", "nsp" or "none": what sentence_order_labels mean.
        compression: "none" or "gzip", of each file as a whole.
        vocabulary: {"file" (no folder), "sha256", "size"} of the sentencepiece model.
        flags: every flag of create_pretraining_data that changes the bytes.
        input: {"name" (no folder), "bytes", "sha256"} of each text file, in the order read.
        statistics: what was counted while making them (docs/data.md).
        written_by: the version of albert_tf.
        masking: "static" or "dynamic": whether the records hold masks, or the trainer draws them.
        masking_parameters: with dynamic, how: what masking_rules.masking_to_json gave.
    """

    files: list[dict[str, Any]]
    num_examples: int
    max_seq_length: int
    max_predictions_per_seq: int
    sentence_task: str
    compression: str
    vocabulary: dict[str, Any]
    flags: dict[str, Any] = dataclasses.field(default_factory=dict)
    input: list[dict[str, Any]] = dataclasses.field(default_factory=list)
    statistics: dict[str, Any] = dataclasses.field(default_factory=dict)
    written_by: str = ""
    masking: str = STATIC
    masking_parameters: dict[str, Any] = dataclasses.field(default_factory=dict)

    def to_json(self) -> str:
        """The manifest as the text of its file."""
        fields = {"format": FORMAT, "format_version": FORMAT_VERSION, **dataclasses.asdict(self)}
        fields[DIGEST] = digest_of(fields)
        return to_json_bytes(fields, indent=2).decode() + "\n"

    @classmethod
    def from_json(cls, text: str, name: str) -> "Manifest":
        """Reads the text of a manifest file.

        Args:
            text: the JSON.
            name: the file's name, for errors.

        Raises:
            InputError: not JSON, not a manifest, of a later format, damaged, or with fields missing or of a wrong type.
        """
        try:
            fields = json.loads(text)
        except (ValueError, RecursionError) as error:
            raise InputError(f"{name}: not JSON ({error}); delete it or make the records again") from None
        if not isinstance(fields, dict) or fields.get("format") != FORMAT:
            raise InputError(f"{name}: not a manifest of pre-training records; delete it or make the records again")
        if fields.get("format_version") != FORMAT_VERSION:
            version = str(fields.get("format_version"))[:40]
            raise InputError(
                f"{name}: manifest format {version}, this program reads {FORMAT_VERSION}; "
                "use the albert_tf that made the records"
            )
        known = {field.name for field in dataclasses.fields(cls)}
        absent = dataclasses.MISSING
        required = {f.name for f in dataclasses.fields(cls) if f.default is absent and f.default_factory is absent}
        missing = sorted(required - fields.keys())
        if missing:
            raise InputError(f"{name}: the manifest lacks {', '.join(missing)}; make the records again")
        if fault := find_fault(fields):
            raise InputError(f"{name}: damaged, {fault}; copy it again or make the records again")
        manifest = cls(**{key: value for key, value in fields.items() if key in known})
        manifest._check_masking(name)
        return manifest

    def _check_masking(self, name: str) -> None:
        if self.masking not in MASKINGS:
            raise InputError(
                f"{name}: masking is {self.masking[:40]!r}, this program knows {' and '.join(MASKINGS)}; use the "
                "albert_tf that made the records"
            )
        if self.masking == DYNAMIC:
            try:
                masking_from_json(self.masking_parameters)
            except ValueError as error:
                raise InputError(f"{name}: {error}; make the records again") from None

    @property
    def cleaning(self) -> dict[str, Any]:
        """The cleaning of texts: the fields of TextCleaning."""
        return {name: self.flags.get(name, value) for name, value in dataclasses.asdict(OFFICIAL_CLEANING).items()}

    @property
    def vocabulary_and_cleaning(self) -> dict[str, Any]:
        """The vocabulary, with how texts were cleaned as "cleaning" where that was not the usual way."""
        is_usual = self.cleaning == dataclasses.asdict(OFFICIAL_CLEANING)
        return self.vocabulary if is_usual else {**self.vocabulary, "cleaning": self.cleaning}


def read_manifest(paths: Sequence[str]) -> Manifest | None:
    """The manifest of record files, found in their folders by the file names it lists.

    Args:
        paths: record files, all of a set or a part of it.

    Returns:
        The manifest; for files of several sets that agree in lengths, vocabulary, cleaning and task, one manifest of
        all of them, with the flags in which they agree; None if no file is listed anywhere (official records).

    Raises:
        InputError: a manifest cannot be read, the files belong to sets that do not agree, or some are listed and others
            not: of these nobody could say whether they agree.
    """
    found, entries = _find(paths)
    manifests = list(found.values())
    if not manifests:
        return None
    stray = next((path for path in paths if path not in entries), None)
    if stray is not None:
        raise InputError(
            f"{stray}: no manifest lists it, and {next(iter(found))} lists others; leave it out, or read files "
            "without a manifest, as the official code makes them, by themselves"
        )
    for name, manifest in found.items():
        _check_agreement(next(iter(found)), manifests[0], name, manifest)
    if len(manifests) == 1:
        return manifests[0]
    return dataclasses.replace(
        manifests[0],
        files=[file for manifest in manifests for file in manifest.files],
        num_examples=sum(manifest.num_examples for manifest in manifests),
        statistics={},
        flags={
            name: value
            for name, value in manifests[0].flags.items()
            if all(name in manifest.flags and manifest.flags[name] == value for manifest in manifests)
        },
        input=[],
    )


def find_entries(paths: Sequence[str]) -> dict[str, dict[str, Any]]:
    """The entries of record files in their manifests: {"name", "examples", "bytes", "sha256"} by path.

    Files of one name in two folders have an entry each; a file that no manifest lists has none.

    Raises:
        InputError: a manifest cannot be read.
    """
    return _find(paths)[1]


def _find(paths: Sequence[str]) -> tuple[dict[str, Manifest], dict[str, dict[str, Any]]]:
    """The manifests that list any of the files, by their names, and their entries of these, by path."""
    found: dict[str, Manifest] = {}
    entries: dict[str, dict[str, Any]] = {}
    for folder in dict.fromkeys(os.path.dirname(path) for path in paths):
        wanted = {os.path.basename(path): path for path in paths if os.path.dirname(path) == folder}
        for name in _manifest_files(folder):
            manifest = _read(name)
            listed = {file["name"]: file for file in manifest.files if file["name"] in wanted}
            if listed:
                found[name] = manifest
                entries |= {wanted.pop(file): entry for file, entry in listed.items()}
    return found, entries


def check_vocabulary(first: dict | None, second: dict | None, where: str) -> None:
    """Raises InputError if two vocabularies are known, and are not the same.

    Args:
        first: {"file", "sha256", "size"} of what `where` names, or None if unknown.
        second: of the records, or None.
        where: a checkpoint, or the flag of other records.
    """
    if first is not None and second is not None and first["sha256"] != second["sha256"]:
        raise InputError(
            f"{where}: made with another vocabulary ({first['file']}, sha256 {first['sha256'][:12]}…) than the "
            f"records ({second['file']}, sha256 {second['sha256'][:12]}…); use records of the same vocabulary"
        )


def check_cleaning(first: Manifest, second: Manifest, where: str, other: str) -> None:
    """Raises InputError if the texts of two sets were not cleaned alike.

    Args:
        first: of what `other` names.
        second: of what `where` names.
        where: a manifest, or the flag of records.
        other: likewise.
    """
    for name, ours in first.cleaning.items():
        if (theirs := second.cleaning[name]) != ours:
            raise InputError(f"{where}: made with --{name}={theirs}, {other} with {ours}; give records of one kind")


def find_record_files(patterns: str, flag: str = "input_file") -> list[str]:
    """The record files that comma-separated paths and globs name.

    Raises:
        InputError: no such file, or none but a manifest.
    """
    # "train.tfrecord*" matches the manifest too.
    paths = [path for path in files.list_files(patterns, flag) if not path.endswith(MANIFEST_SUFFIX)]
    if not paths:
        raise InputError(f"--{flag}: {patterns!r} names only a manifest; name the record files beside it")
    return paths


def _manifest_files(folder: str) -> list[str]:
    pattern = os.path.join(folder, "*" + MANIFEST_SUFFIX)
    if files.is_remote(folder):
        try:
            return files.list_files(pattern)
        except InputError:
            return []
    if not os.path.isdir(folder or "."):
        return []
    names = sorted(name for name in os.listdir(folder or ".") if name.endswith(MANIFEST_SUFFIX))
    return [os.path.join(folder, name) for name in names]


def _read(name: str) -> Manifest:
    return Manifest.from_json(files.read_small(name).decode("utf-8", errors="replace"), name)


def _check_agreement(first_name: str, first: Manifest, name: str, manifest: Manifest) -> None:
    for field in ("max_seq_length", "max_predictions_per_seq", "sentence_task", "masking", "masking_parameters"):
        ours, theirs = getattr(first, field), getattr(manifest, field)
        if ours != theirs:
            raise InputError(f"{name} has {field}={theirs}, {first_name} has {ours}; give files of one kind")
    check_cleaning(first, manifest, name, first_name)
    if first.vocabulary.get("sha256") != manifest.vocabulary.get("sha256"):
        raise InputError(f"{name} was made with another vocabulary than {first_name}; give files of one kind")
