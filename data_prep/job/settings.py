"""Settings of create_pretraining_data, and which of them decide the bytes that it writes."""

import dataclasses
import math
import typing

from albert_tf.runtime.choices import check_choices
from albert_tf.runtime.errors import InputError
from data_prep.examples.instances import InstanceSettings
from data_prep.text.documents import PART_CHARACTERS
from data_prep.text.standard_input import STANDARD_INPUT
from data_prep.text.text_reading import TextReading

# Records that a work unit makes at most, about; and what a worker holds of a file of records while it shuffles it.
UNIT_BYTES = 24_000_000
SHUFFLE_MEGABYTES = 64


@dataclasses.dataclass(frozen=True)
class RecordJob:
    """Settings of create_pretraining_data; names are those of its flags.

    Attributes:
        input_file: comma list of paths and globs; "-": standard input.
        output_file: a path, a comma list, or path@N.
        spm_model_file: the sentencepiece vocabulary.
        settings: what the examples are.
        reading: how the files are read.
        do_lower_case, keep_accents, normalization, replace_quotes: text cleaning, as AlbertTokenizer takes them.
        drop_duplicate_documents: whether a document that stands in the corpus more than once is taken once.
        compression: none or gzip.
        shuffle_megabytes: what a worker holds of a file while it shuffles it.
        num_workers: processes; 0 for one a core. Changes no byte of the output.
        dask_scheduler: address of a Dask cluster that works instead; it must see the same files. Changes no byte.
        task_index, num_tasks: this run is one of several that share the work through the output's folder. Changes
            no byte.
        overwrite: whether to throw away what was made with other flags or of other text.
        dry_run: whether to stop after the estimate.
        part_characters: size of a work unit; a different size gives different examples.
    """

    input_file: str
    output_file: str
    spm_model_file: str
    settings: InstanceSettings = dataclasses.field(default_factory=InstanceSettings)
    reading: TextReading = dataclasses.field(default_factory=TextReading)
    do_lower_case: bool = True
    keep_accents: bool = False
    normalization: str = "NFKD"
    replace_quotes: bool = False
    drop_duplicate_documents: bool = False
    compression: str = "none"
    shuffle_megabytes: int = SHUFFLE_MEGABYTES
    num_workers: int = 0
    dask_scheduler: str | None = None
    task_index: int = 0
    num_tasks: int = 1
    overwrite: bool = False
    dry_run: bool = False
    part_characters: int = PART_CHARACTERS

    CHOICES: typing.ClassVar = {"compression": ("none", "gzip")}

    def __post_init__(self):
        check_choices(self)
        if self.num_workers < 0:
            raise InputError(f"--num_workers must not be negative; received {self.num_workers}")
        if self.shuffle_megabytes < 1:
            raise InputError(f"--shuffle_megabytes must be at least 1; received {self.shuffle_megabytes}")
        if not 0 <= self.task_index < self.num_tasks:
            raise InputError(
                f"--task_index must be from 0 to --num_tasks - 1; received {self.task_index} and {self.num_tasks}"
            )
        if self.num_tasks > 1 and self.input_file == STANDARD_INPUT:
            raise InputError("--input_file=-: several tasks cannot read one standard input; give a file")

    @property
    def cleaning(self) -> dict:
        """The tokenizer's switches."""
        names = ("do_lower_case", "keep_accents", "normalization", "replace_quotes")
        return {name: getattr(self, name) for name in names}

    @property
    def flags(self) -> dict:
        """Every flag that changes the bytes."""
        return {
            **dataclasses.asdict(self.settings),
            **self.cleaning,
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
