"""Settings of create_pretraining_data, and which of them decide the bytes that it writes."""

import dataclasses
import math
from typing import Annotated

from albert_tf.runtime.errors import FlagError
from albert_tf.runtime.output_paths import STANDARD_INPUT
from albert_tf.runtime.settings import Count, CountOrNone, OneOf, check, described
from albert_tf.tokenization.text_cleaning import TextCleaning
from data_prep.examples.instances import InstanceSettings
from data_prep.text.documents import PART_CHARACTERS
from data_prep.text.text_reading import TextReading

# Records that a work unit makes at most, about; and what a worker holds of a file of records while it shuffles it.
UNIT_BYTES = 24_000_000
SHUFFLE_MEGABYTES = 64


@described
@dataclasses.dataclass(frozen=True)
class RecordJob:
    """Settings of create_pretraining_data.

    num_workers, dask_scheduler, task_index and num_tasks change no byte of the output. A Dask cluster must see the same
    files.
    """

    input_file: Annotated[
        str, "Files and globs: a sentence a line, a blank line between documents; - for standard input."
    ]
    output_file: Annotated[str, "A path, a comma list of paths, or path@64 for files path-00000-of-00064 and so on."]
    spm_model_file: Annotated[str, "The vocabulary (.model of sentencepiece, or vocab.txt of WordPiece)."]
    settings: Annotated[InstanceSettings, "What the examples are."] = dataclasses.field(
        default_factory=InstanceSettings
    )
    reading: Annotated[TextReading, "How the files are read."] = dataclasses.field(default_factory=TextReading)
    cleaning: Annotated[TextCleaning, "How text is cleaned."] = dataclasses.field(default_factory=TextCleaning)
    drop_duplicate_documents: Annotated[bool, "Take a document that stands in the corpus more than once only once."] = (
        False
    )
    compression: Annotated[str, OneOf("none", "gzip"), "Compression of the record files."] = "none"
    shuffle_megabytes: Annotated[Count, "Memory for shuffling, of each worker."] = SHUFFLE_MEGABYTES
    num_workers: Annotated[CountOrNone, "Processes; 0 for one a core. Any number writes the same bytes."] = 0
    dask_scheduler: Annotated[
        str | None, "Address of a Dask cluster (tcp://host:port) that works instead; needs the extra dask."
    ] = None
    task_index: Annotated[
        CountOrNone,
        "Which of --num_tasks runs this is, from 0: they share the work through the output's folder.",
    ] = 0
    num_tasks: Annotated[Count, "How many runs of the same command share the work."] = 1
    overwrite: Annotated[bool, "Throw away what was made with other flags or of other text."] = False
    dry_run: Annotated[bool, "Say how large the output will be and how long it will take, and stop."] = False
    part_characters: Annotated[Count, "Size of a work unit; a different size gives different examples."] = (
        PART_CHARACTERS
    )

    def __post_init__(self):
        check(self)
        if self.task_index >= self.num_tasks:
            raise FlagError(
                f"--task_index must be from 0 to --num_tasks - 1; received {self.task_index} and {self.num_tasks}"
            )
        if self.num_tasks > 1 and self.input_file == STANDARD_INPUT:
            raise FlagError("--input_file=-: several tasks cannot read one standard input; give a file")

    @property
    def flags(self) -> dict:
        """Every flag that changes the bytes."""
        return {
            **dataclasses.asdict(self.settings),
            **dataclasses.asdict(self.cleaning),
            **dataclasses.asdict(self.reading),
            "drop_duplicate_documents": self.drop_duplicate_documents,
            "compression": self.compression,
            "shuffle_megabytes": self.shuffle_megabytes,
            "part_characters": self.part_characters,
        }

    @property
    def record_bytes(self) -> int:
        """Approximate number of bytes of a record: two or three an id, one for each 0 or 1, four a weight, names."""
        return 5 * self.settings.max_seq_length + 7 * self.settings.max_predictions_per_seq + 190

    def duplicates_of_a_unit(self) -> int:
        """Number of passes over a part that one work unit makes."""
        # About four characters a piece, and some examples are short.
        examples = 1.3 * self.part_characters / 4 / self.settings.max_seq_length
        return max(1, min(self.settings.dupe_factor, int(UNIT_BYTES / (examples * self.record_bytes))))

    def estimate_examples(self, documents: int, pieces: int) -> float:
        """Estimates the number of examples, rather too high: short ones, ends of documents."""
        return self.settings.dupe_factor * (documents + 1.4 * pieces / self.settings.max_seq_length)

    def buckets_of_a_file(self, documents: int, pieces: int, num_files: int) -> int:
        """Number of buckets that each file is cut into, so that one fits twice into the memory for shuffling."""
        total = self.estimate_examples(documents, pieces) * self.record_bytes
        return max(1, math.ceil(2 * total / num_files / (self.shuffle_megabytes * 1_000_000)))
