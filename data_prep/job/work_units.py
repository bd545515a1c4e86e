"""The work of a worker: it tokenises a part, draws examples from one, or writes a file of records.

Each unit of work is a pure function of the job and of its own number, and leaves one file. A unit whose file is there
and sound is not done again.
"""

import contextlib
import dataclasses
import gc
import hashlib
import os
from collections import Counter
from collections.abc import Iterator, Sequence

import numpy as np

from albert_tf.records.record_files import frame
from albert_tf.runtime import files
from albert_tf.runtime.digests import describe_file
from albert_tf.runtime.workspace import read_note, temporary_of, write_note
from albert_tf.tokenization.base import Tokenizer
from data_prep.examples.draws import Draws, derive_seed
from data_prep.examples.instances import InstanceSettings, draw_instances, encode_instances
from data_prep.examples.masking import Pieces
from data_prep.examples.token_store import TokenStore
from data_prep.inspection.statistics import RecordStatistics
from data_prep.job.duplicates import read_kept
from data_prep.job.shards import gather, scatter
from data_prep.job.unit_files import (
    load_unit,
    read_unit,
    write_unit,
)
from data_prep.text.documents import Part, sentences_of
from data_prep.text.text_reading import TextReading

_STORE_ARRAYS = ("ids", "sentences", "documents", "sources")


@dataclasses.dataclass(frozen=True)
class DrawUnit:
    """Some passes over a part.

    Attributes:
        index: number of the unit.
        part: number of the part.
        duplicates: which passes.
    """

    index: int
    part: int
    duplicates: range


class UnitMaker:
    """Does units of work; each worker process holds one."""

    def __init__(
        self,
        tokenizer: Tokenizer,
        settings: InstanceSettings,
        reading: TextReading,
        folder: str,
        drop_duplicates: bool = False,
    ):
        self.tokenizer, self.settings, self.reading = tokenizer, settings, reading
        self.folder, self.drop_duplicates = folder, drop_duplicates
        self.pieces = Pieces.of_tokenizer(tokenizer, settings.word_boundaries)

    def tokens_path(self, part: int) -> str:
        """Path of the ids of a part."""
        return os.path.join(self.folder, f"tokens-{part:06d}")

    def spill_path(self, unit: int) -> str:
        """Path of the examples of some passes over a part."""
        return os.path.join(self.folder, f"examples-{unit:06d}")

    def shard_path(self, shard: int) -> str:
        """Path at which a file of records is made."""
        return os.path.join(self.folder, f"shard-{shard:05d}")

    def tokenize(self, part: Part) -> dict:
        """Writes the ids of a part; returns the unit's header: numbers of documents, sentences and pieces."""
        path, digest = self.tokens_path(part.index), part.digest()
        found = self.find_tokens(part.index)
        if found is not None and found["digest"] == digest:
            return found
        store, digests = self.encode(part)
        header = {
            "digest": digest,
            "documents": store.num_documents,
            "sentences": store.num_sentences,
            "pieces": len(store.ids),
        }
        arrays = {name: getattr(store, name) for name in _STORE_ARRAYS}
        if self.drop_duplicates:
            arrays["digests"] = digests
        write_unit(path, header, arrays)
        return header

    def find_tokens(self, part: int) -> dict | None:
        """The header of the ids of a part, of which all is read, if they are there and whole; else None."""
        found = read_unit(self.tokens_path(part), check=True)
        return None if found is None else found.header

    def encode(self, part: Part) -> tuple[TokenStore, np.ndarray]:
        """The ids of a part, and a digest of each document: uint64, two for each."""
        with _without_collector():
            texts = [sentences_of(document, self.reading) for document in part.documents]
            encoded = iter(self.tokenizer.encode_batch([sentence for sentences in texts for sentence in sentences]))
            found = [(document.source, [next(encoded) for _ in text]) for document, text in zip(part.documents, texts)]
            store = TokenStore.from_documents(found, self.tokenizer.vocab_size)
        digests = b""
        if self.drop_duplicates:
            kept = [text for text, (_, sentences) in zip(texts, found) if any(sentences)]
            digests = b"".join(map(_digest, kept))
        return store, np.frombuffer(digests, "<u8")

    def load(self, part: int) -> TokenStore:
        """The ids of a part, mapped from its file, without the documents to leave out."""
        unit = load_unit(self.tokens_path(part))
        store = TokenStore(**{name: unit.arrays[name] for name in _STORE_ARRAYS})
        return store.keep(read_kept(self.folder, part, store.num_documents)) if self.drop_duplicates else store

    def count_documents(self, num_parts: int) -> dict[str, int]:
        """Counts the documents of the corpus, and those left out; one of many pieces, in any number of parts, once."""
        counts, last = {"all": 0, "kept": 0}, {"all": -1, "kept": -1}
        for part in range(num_parts):
            sources = load_unit(self.tokens_path(part)).arrays["sources"].astype(np.int64)
            found = {"all": sources, "kept": sources}
            if self.drop_duplicates:
                found["kept"] = sources[read_kept(self.folder, part, len(sources))]
            for name, of_part in found.items():
                # Pieces of a document stand side by side.
                counts[name] += int(np.count_nonzero(np.diff(of_part, prepend=last[name])))
                last[name] = int(of_part[-1]) if len(of_part) else last[name]
        return {"documents": counts["kept"], "duplicate_documents_left_out": counts["all"] - counts["kept"]}

    def draw(self, unit: DrawUnit, num_buckets: int) -> dict:
        """Writes the examples of some passes over a part; returns the unit's header: what was counted."""
        path = self.spill_path(unit.index)
        found = read_unit(path, check=True)
        if found is not None and found.header["buckets"] == num_buckets:
            return _with_distinct(found.header, found.arrays["distinct"])
        settings, counts = self.settings, Counter()
        statistics = RecordStatistics(self.pieces.ids.mask_id, self.pieces.ids.unk_id)
        store = self.load(unit.part)
        if 0 in unit.duplicates:
            counts.update(sentences=store.num_sentences, pieces=len(store.ids))
        framed: list[bytes] = []
        for duplicate in unit.duplicates:
            draws = Draws(derive_seed(settings.random_seed, unit.part, duplicate))
            batch, windows = draw_instances(store, settings, self.pieces, draws, counts)
            statistics.add_batch(batch, windows)
            framed += map(frame, encode_instances(batch, settings))
        header = {"buckets": num_buckets, "counts": counts, "statistics": statistics.to_json()}
        distinct = np.array(sorted(statistics.distinct), np.uint32)
        seed = derive_seed(settings.random_seed, unit.index, "scatter")
        scatter(path, framed, num_buckets, seed, header, distinct=distinct)
        return _with_distinct(header, distinct)

    def gather(self, shard: int, final_path: str, num_units: int, buckets: range, compression: str) -> dict:
        """Writes a file of records, from its buckets of all units; returns its entry in the manifest."""
        path = self.shard_path(shard)
        note = f"{path}.json"
        if (described := read_note(note)) is not None:
            expected = {name: described.get(name) for name in ("bytes", "sha256")}
            for place in (path, final_path):
                # A run killed while it gave the files their names has moved some of them.
                if not files.is_remote(place) and os.path.isfile(place) and describe_file(place) == expected:
                    return described
        spills = [self.spill_path(unit) for unit in range(num_units)]
        temporary = temporary_of(path)
        try:
            described = gather(
                temporary, spills, buckets, derive_seed(self.settings.random_seed, "shard", shard), compression
            )
            os.replace(temporary, path)
            write_note(note, described)
        except BaseException:
            if os.path.exists(temporary):
                os.unlink(temporary)
            raise
        return described


@contextlib.contextmanager
def _without_collector() -> Iterator[None]:
    """Keeps Python from searching for unused cycles: a list for each sentence holds none, but starts many searches."""
    enabled = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if enabled:
            gc.enable()


def _digest(sentences: Sequence[str]) -> bytes:
    text = "\n".join(sentences).encode("utf-8", "surrogatepass")
    return hashlib.blake2b(text, digest_size=16).digest()


def _with_distinct(header: dict, distinct: np.ndarray) -> dict:
    return {**header, "distinct": distinct.tolist()}
