"""Judges vectors on pairs of texts: as a search, beside BM25 and counted word embeddings, or by scores of likeness.

python -m albert_tf.benchmarks.vector_search --pairs_file=questions.jsonl --model=all-MiniLM-L6-v2,runs/search --bm25

Models are whatever albert_tf.Embedder opens. Counted embeddings, of count_embeddings, make a vector of a text by the
mean over its pieces, each times the logarithm of how few of the texts have it.
"""

import time
import zipfile
from collections.abc import Callable
from typing import Any

import numpy as np
from absl import flags

from albert_tf.runtime import command
from albert_tf.runtime.errors import FlagError, InputError
from albert_tf.runtime.json_text import to_json
from albert_tf.runtime.packages import import_extra


def define_flags(flag_values: flags.FlagValues = flags.FLAGS) -> None:
    """Declares the flags of this command."""
    fv = {"flag_values": flag_values}
    flags.DEFINE_string("pairs_file", None, "Pairs of texts, as --dev_file of train_embeddings.", **fv)
    flags.DEFINE_list("text_columns", [], "Their columns; left out: all but scores and ids.", **fv)
    flags.DEFINE_string("score_column", None, "Column of scores; left out: label, labels, score or scores.", **fv)
    flags.DEFINE_float("max_score", 1.0, "Score of two texts that are the same.", **fv)
    flags.DEFINE_list("model", [], "Models that make vectors.", **fv)
    flags.DEFINE_bool("bm25", False, "Search by the words that texts share, too.", **fv)
    flags.DEFINE_string("embeddings_file", None, "Counted embeddings (.npz), to be judged too.", **fv)
    flags.DEFINE_string("spm_model_file", None, "Their vocabulary.", **fv)
    flags.DEFINE_integer("batch_size", 32, "Texts that a model is asked about at a time.", lower_bound=1, **fv)


def _judge(dev: Any, make_vectors: Callable[[list[str]], np.ndarray]) -> dict[str, float]:
    """The scores of vectors, and the texts a second of which they were made."""
    began = time.perf_counter()
    vectors = make_vectors(list(dev.texts))
    seconds = time.perf_counter() - began
    return {**dev.judge(vectors), "texts_per_second": len(dev.texts) / seconds}


def search_by_words(dev: Any) -> dict[str, float]:
    """The scores of BM25 (k1 1.5, b 0.75), words in lower case without those of little meaning, not stemmed.

    Args:
        dev: embedding.dev_set.DevSet without scores.
    """
    bm25s: Any = import_extra("bm25s", "bm25", "--bm25")

    def compare(queries: np.ndarray, texts: np.ndarray) -> Any:
        def cut(places: np.ndarray) -> list[list[str]]:
            words: list[list[str]] = bm25s.tokenize(
                [dev.texts[place] for place in places], stopwords="en", return_ids=False, show_progress=False
            )
            return words

        index = bm25s.BM25()
        index.index(cut(texts), show_progress=False)
        nothing = np.zeros(len(texts), np.float32)
        return (index.get_scores(words)[None] if words else nothing[None] for words in cut(queries))

    scores: dict[str, float] = dev.judge_search(compare)
    return scores


def counted_vectors(texts: list[str], embeddings_file: str, spm_model_file: str) -> np.ndarray:
    """The vectors of texts by counted embeddings, float32 [texts, E].

    Raises:
        InputError: the file is not of count_embeddings, or of a different vocabulary.
    """
    from albert_tf.tokenization.vocabularies import make_tokenizer

    tokenizer = make_tokenizer(spm_model_file)
    try:
        with np.load(embeddings_file, allow_pickle=False) as arrays:
            table = arrays["word_embeddings"]
    except (OSError, ValueError, KeyError, TypeError, AttributeError, EOFError, zipfile.BadZipFile) as error:
        raise InputError(f"--embeddings_file: {embeddings_file} is not of count_embeddings ({error})") from None
    if len(table) != tokenizer.vocab_size:
        raise InputError(f"--embeddings_file: {len(table)} pieces, {spm_model_file} has {tokenizer.vocab_size}")
    pieces = [np.array(ids, np.int64) for ids in tokenizer.encode_batch(texts)]
    counts = np.bincount(np.concatenate([np.unique(ids) for ids in pieces]), minlength=len(table))
    weights = np.log(len(texts) / np.maximum(counts, 1)).astype(np.float32)
    return np.stack([(table[ids] * weights[ids, None]).sum(axis=0) for ids in pieces])


def _run() -> None:
    from albert_tf.embedding.dev_set import DevSet
    from albert_tf.embedding.text_tables import read_table

    given = flags.FLAGS
    dev = DevSet.from_table(
        read_table(given.pairs_file, tuple(given.text_columns), given.score_column, given.max_score)
    )
    found: dict[str, Any] = {}
    if given.bm25:
        if dev.scores is not None:
            raise InputError("--bm25 searches; the pairs have scores")
        found["bm25"] = search_by_words(dev)
    if given.embeddings_file is not None:
        if given.spm_model_file is None:
            raise FlagError("--embeddings_file goes with --spm_model_file, their vocabulary")
        files = (given.embeddings_file, given.spm_model_file)
        found["counted"] = _judge(dev, lambda texts: counted_vectors(texts, *files))
    for path in given.model:
        from albert_tf.serving.embedder import Embedder

        embedder = Embedder(path)
        found[path] = _judge(dev, lambda texts: embedder.embed(texts, given.batch_size))  # noqa: B023
    if not found:
        raise InputError("nothing to judge; give --model, --bm25 or --embeddings_file")
    result = {"benchmark": "vector_search", "pairs": len(dev.pairs), "texts": len(dev.texts), **found}
    print(to_json(result))  # noqa: T201


main = command.entry_point(__name__, _run, required=("pairs_file",))

if __name__ == "__main__":
    main()
