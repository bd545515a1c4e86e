"""The table of a family of Hugging Face's models; torch.nn.Linear stores its matrix as [units, inputs], transposed."""

from albert_tf.config import AlbertConfig
from albert_tf.conversion.checkpoint_format import block_rows
from albert_tf.conversion.hugging_face_family import Family
from albert_tf.conversion.rows import Row, TransposedRow


def dense_rows(ours: str, theirs: str) -> list[Row]:
    """The rows of a layer with a matrix, by the first parts of their names."""
    return [TransposedRow(f"{ours}kernel", f"{theirs}.weight"), Row(f"{ours}bias", f"{theirs}.bias")]


def _norm(ours: str, theirs: str) -> list[Row]:
    """The rows of a LayerNorm, which files of 2019 name as TensorFlow does."""
    return [
        Row(f"{ours}/gamma", f"{theirs}.weight", aliases=(f"{theirs}.gamma",)),
        Row(f"{ours}/beta", f"{theirs}.bias", aliases=(f"{theirs}.beta",)),
    ]


def family_rows(family: Family, config: AlbertConfig) -> list[Row]:
    """The rows of embeddings, blocks, pooler and heads.

    Raises:
        InputError: the family has no names for such a sharing of parameters.
    """
    embeddings = f"{family.prefix}embeddings."
    return [
        # transformers stores the matrix before the softmax, which is the embeddings', in some versions once more.
        Row(
            "albert/embeddings/word_embeddings",
            f"{embeddings}word_embeddings.weight",
            aliases=(f"{family.masked_lm}.decoder.weight",),
        ),
        Row("albert/embeddings/token_type_embeddings", f"{embeddings}token_type_embeddings.weight"),
        Row("albert/embeddings/position_embeddings", f"{embeddings}position_embeddings.weight"),
        *_norm("albert/embeddings/layer_norm", f"{embeddings}LayerNorm"),
        *dense_rows("albert/pooler/", family.pooler),
        *dense_rows("masked_lm/transform/", f"{family.transform}.dense"),
        *_norm("masked_lm/layer_norm", f"{family.transform}.LayerNorm"),
        Row(
            "masked_lm/output_bias",
            f"{family.masked_lm}.bias",
            aliases=(f"{family.masked_lm}.decoder.bias",),
        ),
        *dense_rows("sentence_order/classifier/", family.sentence_order),
        *dense_rows("classifier/", "classifier"),
        *dense_rows("span/", "qa_outputs"),
        *block_rows(config, family.title, lambda *place: _block(family, *place)),
    ]


def _block(family: Family, ours: str, group: int, inner: int) -> list[Row]:
    rows = []
    for layer, its_layer in family.block_layers.items():
        theirs = f"{family.block_prefix(group, inner)}{its_layer}"
        if layer.endswith("/layer_norm"):
            rows += _norm(f"{ours}{layer}", theirs)
        else:
            # Queries, keys and values are parts of one layer of ours.
            joint = "_" if layer.endswith(("/query", "/key", "/value")) else "/"
            rows += dense_rows(f"{ours}{layer}{joint}", theirs)
    return rows
