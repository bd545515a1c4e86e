"""The table of names in docs/conversion.md is what the formats' rows say; run as a script, this file prints it."""

from pathlib import Path

from albert_tf.config import AlbertConfig
from albert_tf.conversion.formats import FORMATS
from albert_tf.conversion.rows import HeadsRow, TransposedRow

ROOT = Path(__file__).resolve().parents[1]

COLUMNS = {"official": "official", "hugging_face": "Hugging Face", "keras_hub": "KerasHub"}
# Prefixes that the table abbreviates: those of the block of group G and inner group I, and of a preset's head.
BLOCK = {
    "ours": "albert/encoder/block_0_0/",
    "official": "bert/encoder/transformer/group_0/inner_group_0/",
    "hugging_face": "albert.encoder.albert_layer_groups.0.albert_layers.0.",
    "keras_hub": "layers/transformer_encoder/",
}
HEAD = "task.weights.h5/layers/masked_lm_head/"
MARKS = {TransposedRow: " T", HeadsRow: " N"}


def cell(row, column):
    """A row's name in a format, abbreviated, with a mark for what is done to its values."""
    if row is None:
        return ""
    name = row.theirs.replace(BLOCK[column], "…").replace(HEAD, "head/")
    return f"`{name}`{MARKS.get(type(row), '')}"


def table():
    """The lines of the table."""
    config = AlbertConfig(vocab_size=8, hidden_size=256, num_attention_heads=4)
    rows = {name: {row.ours: row for row in FORMATS[name].rows(config, ())} for name in COLUMNS}
    lines = [f"| ours | {' | '.join(COLUMNS.values())} |", "|---" * (len(COLUMNS) + 1) + "|"]
    for ours in rows["official"]:
        cells = [cell(rows[name].get(ours), name) for name in COLUMNS]
        lines.append(f"| `{ours.replace(BLOCK['ours'], '…')}` | {' | '.join(cells)} |")
    return lines


def test_the_documented_table_is_the_one_that_is_used():
    documented = (ROOT / "docs/conversion.md").read_text().splitlines()
    missing = [line for line in table() if line not in documented]
    assert missing == [], "PYTHONPATH=. python tests/conversion_table_test.py prints the table"


if __name__ == "__main__":
    import sys

    sys.stdout.write("\n".join(table()) + "\n")
