"""The tables of names in docs/conversion.md are what the formats' rows say; run as a script, this file prints them."""

from pathlib import Path

from albert_tf.config import AlbertConfig
from albert_tf.conversion.formats import FORMATS
from albert_tf.conversion.rows import HeadsRow, TransposedRow

ROOT = Path(__file__).resolve().parents[1]

# The formats of ALBERT, and those of BERT, with the shape of a model of each.
TABLES = (
    ({"official": "official", "hugging_face": "Hugging Face", "keras_hub": "KerasHub"}, {}),
    (
        {"official_bert": "official BERT", "hugging_face_bert": "Hugging Face BERT"},
        {"embedding_size": 256, "parameter_sharing": "none", "num_hidden_layers": 1},
    ),
)
# Prefixes that the tables abbreviate: those of the block of group G and inner group I, and of a preset's head.
BLOCK = {
    "ours": "albert/encoder/block_0_0/",
    "official": "bert/encoder/transformer/group_0/inner_group_0/",
    "hugging_face": "albert.encoder.albert_layer_groups.0.albert_layers.0.",
    "keras_hub": "layers/transformer_encoder/",
    "official_bert": "bert/encoder/layer_0/",
    "hugging_face_bert": "bert.encoder.layer.0.",
}
HEAD = "task.weights.h5/layers/masked_lm_head/"
MARKS = {TransposedRow: " T", HeadsRow: " N"}


def cell(row, column):
    """A row's name in a format, abbreviated, with a mark for what is done to its values."""
    if row is None:
        return ""
    name = row.theirs.replace(BLOCK[column], "…").replace(HEAD, "head/")
    return f"`{name}`{MARKS.get(type(row), '')}"


def table(columns, shape):
    """The lines of a table."""
    config = AlbertConfig(vocab_size=8, hidden_size=256, num_attention_heads=4, **shape)
    rows = {name: {row.ours: row for row in FORMATS[name].rows(config, ())} for name in columns}
    lines = [f"| ours | {' | '.join(columns.values())} |", "|---" * (len(columns) + 1) + "|"]
    for ours in next(iter(rows.values())):
        cells = [cell(rows[name].get(ours), name) for name in columns]
        lines.append(f"| `{ours.replace(BLOCK['ours'], '…')}` | {' | '.join(cells)} |")
    return lines


def test_the_documented_tables_are_those_that_are_used():
    documented = (ROOT / "docs/conversion.md").read_text().splitlines()
    missing = [line for names_and_shape in TABLES for line in table(*names_and_shape) if line not in documented]
    assert missing == [], "PYTHONPATH=. python tests/conversion_table_test.py prints the tables"


if __name__ == "__main__":
    import sys

    sys.stdout.write("\n\n".join("\n".join(table(*names_and_shape)) for names_and_shape in TABLES) + "\n")
