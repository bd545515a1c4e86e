"""The models in configs/: their values against the published ones.

The published values are those of the released albert_config.json files (v2 as corrected by its authors), written out
here so that a slip in a file cannot hide.
"""

from pathlib import Path

import pytest

from albert_tf.config import AlbertConfig

MODELS = Path(__file__).resolve().parents[1] / "configs" / "models"

# size: (layers, hidden, heads, feed-forward, dropout of v1); v2 has none
OFFICIAL = {
    "base": (12, 768, 12, 3072, 0.1),
    "large": (24, 1024, 16, 4096, 0.1),
    "xlarge": (24, 2048, 16, 8192, 0.1),
    "xxlarge": (12, 4096, 64, 16384, 0.0),
}
# name: (layers, hidden, heads, feed-forward, embedding, pieces, dropout, sharing)
SHAPES = {
    "bert_base": (12, 768, 12, 3072, 768, 30000, 0.1, "none"),
    "bert_large": (24, 1024, 16, 4096, 1024, 30000, 0.1, "none"),
    "bert_xlarge": (24, 2048, 16, 8192, 2048, 30000, 0.1, "none"),
    "albert_mini": (4, 256, 4, 1024, 128, 30000, 0.0, "all"),
    "albert_small": (2, 192, 3, 768, 96, 8000, 0.0, "all"),
    "albert_tiny": (2, 128, 2, 512, 64, 8000, 0.0, "all"),
}
for size, (*sizes, dropout) in OFFICIAL.items():
    SHAPES[f"albert_{size}_v1"] = (*sizes, 128, 30000, dropout, "all")
    SHAPES[f"albert_{size}_v2"] = (*sizes, 128, 30000, 0.0, "all")


# Ours start from larger weights: the official 0.02 suits a hidden size of about 1,000, and the scale that keeps a
# projection's output as large falls with the square root of the width.
INITIALIZER_RANGES = {"albert_mini": 0.04, "albert_small": 0.06, "albert_tiny": 0.06}


def test_every_config_file_is_checked_here():
    assert {path.stem for path in MODELS.glob("*.json")} == set(SHAPES)


@pytest.mark.parametrize("name", SHAPES)
def test_a_config_file_has_the_published_values(name):
    layers, hidden, heads, intermediate, embedding, pieces, dropout, sharing = SHAPES[name]
    assert AlbertConfig.from_json_file(str(MODELS / f"{name}.json")) == AlbertConfig(
        vocab_size=pieces,
        embedding_size=embedding,
        hidden_size=hidden,
        num_hidden_layers=layers,
        num_hidden_groups=1,
        num_attention_heads=heads,
        intermediate_size=intermediate,
        inner_group_num=1,
        hidden_act="gelu",
        hidden_dropout_prob=dropout,
        attention_probs_dropout_prob=dropout,
        max_position_embeddings=512,
        type_vocab_size=2,
        initializer_range=INITIALIZER_RANGES.get(name, 0.02),
        parameter_sharing=sharing,
    )
