"""Folders of runs as the commands leave them, and pages of write_report read back."""

import dataclasses
import html.parser
import json

from albert_tf.checkpoints.checkpoint_evaluation import write_evaluation
from albert_tf.checkpoints.checkpoint_state import TrainingState, write_state
from albert_tf.config import AlbertConfig

_WIDTHS = {"embedding_size": 8, "hidden_size": 16, "intermediate_size": 32, "num_attention_heads": 2}
CONFIG = AlbertConfig(vocab_size=60, num_hidden_layers=2, max_position_embeddings=16, **_WIDTHS)
_VOID = ("meta",)
_STATE = TrainingState(step=0, examples_seen=0, random_seed=1, input_files=[], optimizer="lamb")


class PageReader(html.parser.HTMLParser):
    """Reads a page: its texts, and every tag with its attributes; tags must be closed in order."""

    def __init__(self):
        super().__init__()
        self.texts, self.tags, self._open = [], [], []

    def handle_starttag(self, tag, attributes):
        self.tags.append((tag, dict(attributes)))
        if tag not in _VOID:
            self._open.append(tag)

    def handle_startendtag(self, tag, attributes):
        self.tags.append((tag, dict(attributes)))

    def handle_endtag(self, tag):
        assert self._open, f"</{tag}> closes nothing"
        assert self._open.pop() == tag

    def handle_data(self, data):
        if data.strip() and self._open[-1] != "style":
            self.texts.append(" ".join(data.split()))

    def close(self):
        super().close()
        assert self._open == []


@dataclasses.dataclass
class Shown:
    """A page as a reader sees it: the texts in their order, and its tags with their attributes."""

    source: str
    texts: list
    tags: list

    def row(self, first, count):
        """The texts that follow one, as the cells of a row do."""
        at = self.texts.index(first)
        return self.texts[at + 1 : at + 1 + count]


def add_checkpoint(folder, step, evaluation=None, **state):
    """Adds a checkpoint of which a report reads everything but the weights."""
    place = folder / f"checkpoint-{step:08d}"
    place.mkdir()
    write_state(str(place), dataclasses.replace(_STATE, step=step, **state))
    if evaluation is not None:
        write_evaluation(str(place), evaluation)


def write_log(folder, lines):
    """Writes lines of a log."""
    (folder / "train_log.jsonl").write_text("".join(json.dumps(line) + "\n" for line in lines))


def pretraining_lines(steps, start=None):
    """The lines of a run that learns: a report every 100 steps."""
    yield {"kind": "start", "step": 0, "parameters": 3526, "precision": "float32", "replicas": 1, **(start or {})}
    for step in range(100, steps + 1, 100):
        yield {
            "kind": "train",
            "step": step,
            "loss": 8 - step / 500,
            "masked_lm_loss": 7 - step / 500,
            "masked_lm_accuracy": step / 5000,
            "sentence_order_loss": 0.7,
            "sentence_order_accuracy": 0.6,
            "learning_rate": 0.001,
            "gradient_norm": 1.5,
            "tokens_per_second": 32000.0,
            "examples_per_second": 1000.0,
            "examples_seen": step * 10,
            "epochs": step / 50,
            "seconds": 2.0,
            "unigram_loss": 6.5,
        }
