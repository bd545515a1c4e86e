"""The model card, README.md of a repository of the hub, written from facts alone."""

import dataclasses
from collections.abc import Iterable
from typing import Any

from albert_tf.checkpoints.finetuned_task import FinetunedTask
from albert_tf.config import AlbertConfig
from albert_tf.heads.pooling import Pooling
from albert_tf.records.manifest import Manifest
from albert_tf.records.names import NSP, SOP
from albert_tf.runtime.markdown_table import markdown_table
from albert_tf.tokenization.text_cleaning import OFFICIAL_CLEANING, TextCleaning
from albert_tf.uploading.provenance import Provenance

_PAPER = "[ALBERT](https://arxiv.org/abs/1909.11942)"
# The hub's words for what a model does, by the class of transformers.
_PIPELINES = {
    "AlbertForPreTraining": "fill-mask",
    "AlbertForMaskedLM": "fill-mask",
    "AlbertModel": "feature-extraction",
    "AlbertForSequenceClassification": "text-classification",
    "AlbertForTokenClassification": "token-classification",
    "AlbertForMultipleChoice": "multiple-choice",
    "AlbertForQuestionAnswering": "question-answering",
}
_SENTENCE_TASKS = {SOP: "the order of two segments", NSP: "whether the second segment follows the first"}


@dataclasses.dataclass(frozen=True)
class CardFacts:
    """All that a card says.

    Attributes:
        repository: "owner/name".
        version: of albert_tf.
        config: of the model.
        architecture: the class of transformers that was written.
        has_vocabulary: whether the vocabulary goes along.
        provenance: what lies with the model.
        task: what it was fine-tuned for, or None.
        license: in the hub's words, or None.
        cleaning: of texts.
        pooling: how it makes one vector of a text, of a model for that; None of others.
    """

    repository: str
    version: str
    config: AlbertConfig
    architecture: str
    has_vocabulary: bool
    provenance: Provenance
    task: FinetunedTask | None = None
    license: str | None = None
    cleaning: TextCleaning = OFFICIAL_CLEANING
    pooling: Pooling | None = None


def model_card(facts: CardFacts) -> str:
    """The text of the card: Markdown after the hub's header in YAML."""
    parts = [
        _header(facts),
        f"# {facts.repository.partition('/')[2]}",
        _summary(facts),
        "## Model\n\n" + _table(("setting", "value"), facts.config.to_dict().items()),
        *_training(facts.provenance, facts.pooling is not None),
        *_data(facts.provenance),
        *_scores(facts.provenance),
        *_texts(facts),
        *_use(facts),
    ]
    return "\n\n".join(parts) + "\n"


def _header(facts: CardFacts) -> str:
    library, pipeline = "transformers", _PIPELINES.get(facts.architecture, "feature-extraction")
    if facts.pooling is not None:
        library, pipeline = "sentence-transformers", "sentence-similarity"
    lines = ["---", *([f"license: {facts.license}"] if facts.license else []), f"library_name: {library}"]
    return "\n".join([*lines, f"pipeline_tag: {pipeline}", "tags:", f"- {_family(facts)}", "---"])


def _family(facts: CardFacts) -> str:
    return "bert" if facts.architecture.startswith("Bert") else "albert"


def _summary(facts: CardFacts) -> str:
    task, provenance = facts.task, facts.provenance
    what = "pre-trained" if task is None else f"fine-tuned for {_plain(str(task))}"
    if facts.pooling is not None:
        what = f"for vectors of texts ({facts.pooling})" + (", trained" if provenance.state is not None else "")
    how = "" if provenance.state is not None else ", written"
    how += f" by albert_tf {facts.version}"
    if provenance.state is None and provenance.format is not None:
        how += f" from {provenance.format}"
    kind, article = (f"An {_PAPER}", "an") if _family(facts) == "albert" else ("A BERT", "a")
    return f"{kind}, {what}{how}. Its weights are those of {article} {facts.architecture} of transformers."


def _training(provenance: Provenance, is_of_vectors: bool) -> Iterable[str]:
    state = provenance.state
    if state is None:
        return
    rows: dict[str, Any] = {
        "steps": f"{state.step:,}",
        "examples read": f"{state.examples_seen:,}",
        "optimizer": state.optimizer,
    }
    if state.task is None and not is_of_vectors:
        rows["sentence task"] = _SENTENCE_TASKS.get(state.sentence_task, state.sentence_task)
    rows |= {f"`--{name}`": _plain(value) for name, value in provenance.flags.items() if name != "optimizer"}
    yield "## Training\n\n" + _table(("setting", "value"), rows.items())


def _data(provenance: Provenance) -> Iterable[str]:
    state, manifest = provenance.state, provenance.manifest
    if manifest is not None:
        yield "## Data\n\nWhat the manifest of the records says:\n\n" + _table(("", ""), _rows_of(manifest))
    elif state is not None and state.input_files:
        size = sum(file.get("bytes", 0) for file in state.input_files)
        files = _count(len(state.input_files), "file")
        yield f"## Data\n\n{files} of {size:,} bytes in all; no manifest describes them."


def _rows_of(manifest: Manifest) -> Iterable[tuple[str, Any]]:
    yield "examples", f"{manifest.num_examples:,}"
    yield "pieces of an example, at most", manifest.max_seq_length
    yield "masks", f"{manifest.masking}, at most {manifest.max_predictions_per_seq} of an example"
    yield "sentence task", _SENTENCE_TASKS.get(manifest.sentence_task, manifest.sentence_task)
    yield "vocabulary", f"{manifest.vocabulary['size']:,} pieces, SHA-256 {manifest.vocabulary['sha256']}"
    if manifest.input:
        size = sum(file.get("bytes", 0) for file in manifest.input)
        yield "text", f"{_count(len(manifest.input), 'file')}, {size:,} bytes"
    for name in ("masked_lm_prob", "ngram", "short_seq_prob", "dupe_factor", "do_lower_case", "keep_accents"):
        if name in manifest.flags:
            yield f"`--{name}`", _plain(manifest.flags[name])


def _scores(provenance: Provenance) -> Iterable[str]:
    scores = {split: values for split, values in provenance.scores.items() if values}
    if scores:
        rows = [(split, name, f"{value:.6g}") for split, values in scores.items() for name, value in values.items()]
        yield "## Scores\n\n" + _table(("of", "figure", "value"), rows)


def _texts(facts: CardFacts) -> Iterable[str]:
    """The cleaning of texts in training, where it is not the usual one."""
    if facts.cleaning != OFFICIAL_CLEANING:
        values = dataclasses.asdict(facts.cleaning)
        settings = ", ".join(f"{name}={_plain(value)}" for name, value in values.items())
        yield f"## Texts\n\nIn training texts were cleaned with {settings}."


def _use(facts: CardFacts) -> Iterable[str]:
    name, architecture = facts.repository, facts.architecture
    if facts.pooling is not None:
        ours = f'import albert_tf\n\nvectors = albert_tf.Embedder("hf://{name}").embed(["A text.", "Another."])'
        theirs_too = f'vectors = SentenceTransformer("{name}").encode(["A text.", "Another."])'
        yield f"## Use\n\nWith albert_tf:\n\n```python\n{ours}\n```"
        yield (
            "With sentence-transformers:\n\n```python\nfrom sentence_transformers import SentenceTransformer\n\n"
            f"{theirs_too}\n```"
        )
        return
    lines = [f'import albert_tf\n\nmodel = albert_tf.load("hf://{name}")']
    theirs = [f'model = {architecture}.from_pretrained("{name}")']
    imported = architecture
    if facts.has_vocabulary:
        lines.append(f'tokenizer = albert_tf.load_tokenizer("hf://{name}")')
        theirs.append(f'tokenizer = AutoTokenizer.from_pretrained("{name}")')
        imported += ", AutoTokenizer"
    yield "## Use\n\nWith albert_tf:\n\n```python\n" + "\n".join(lines) + "\n```"
    yield f"With transformers:\n\n```python\nfrom transformers import {imported}\n\n" + "\n".join(theirs) + "\n```"


def _table(head: tuple[str, ...], rows: Iterable[tuple[Any, ...]]) -> str:
    lines = [head, ("---",) * len(head), *rows]
    return markdown_table([list(map(str, line)) for line in lines]).rstrip("\n")


def _count(number: int, what: str) -> str:
    return f"{number:,} {what}{'' if number == 1 else 's'}"


def _plain(value: Any) -> str:
    """A value as text that cannot end a cell of a table, or begin markup."""
    return " ".join(str(value).split()).replace("|", "\\|").replace("`", "'").replace("<", "&lt;")
