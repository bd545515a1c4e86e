"""AlbertModel: embeddings, shared encoder, pooler.

Shapes: B batch, S sequence, P positions, E embedding, H hidden, L layers, N heads.
"""

from typing import Any, TypeVar

import keras
from keras import ops

from albert_tf.config import AlbertConfig
from albert_tf.kernels import fold_in, gather_positions
from albert_tf.kernels.batch_halves import in_halves
from albert_tf.kernels.projection import Projection, Unquantized
from albert_tf.layers.base import make_initializer, read_config
from albert_tf.layers.embeddings import AlbertEmbeddings
from albert_tf.layers.encoder import SharedEncoder
from albert_tf.models.dtype_policies import DTYPE_POLICIES, FROZEN_POLICY
from albert_tf.models.inputs import (
    INPUT_IDS,
    INPUT_MASK,
    INPUTS_EMBEDS,
    POSITION_IDS,
    SEGMENT_IDS,
    check_arguments,
    encoder_inputs,
    read_inputs,
    to_arrays,
)
from albert_tf.records.names import SEQUENCE_IDS, SEQUENCE_STARTS
from albert_tf.runtime.errors import InputError
from albert_tf.runtime.settings import StrPath

DTYPES = (*DTYPE_POLICIES.values(), FROZEN_POLICY)
# Seeds folded into a step's dropout seed, one for each part of the model that draws.
_EMBEDDINGS_STREAM, _ENCODER_STREAM = 0, 1
# Which outputs are read, among the tensors that are encoded.
_POSITIONS, _WANTED = "positions", "wanted"

_Made = TypeVar("_Made", bound="ConfiguredModel")


class ConfiguredModel(Unquantized, keras.Model):
    """A model that is made of `config`, an AlbertConfig, and of how its `encoder`, a SharedEncoder, is applied."""

    config: AlbertConfig
    encoder: Any
    # Of the ids it is called with: [B, S].
    num_axes = 2
    returns_hidden_states = True

    def __call__(self, inputs: Any = None, *args: Any, **kwargs: Any) -> dict[str, Any]:
        """The results of `call`, for arrays, tensors or lists; see AlbertModel.call."""
        check_arguments(args, kwargs)
        # Checked before Keras sees them too, which would surround the error with an account of the call.
        outputs: dict[str, Any] = super().__call__(self._read(to_arrays(inputs)), **kwargs)
        return outputs

    def _read(self, inputs: Any) -> dict[str, Any]:
        return read_inputs(inputs, self.config, self.num_axes)

    def export(
        self,
        filepath: StrPath,
        format: str = "tf_saved_model",
        verbose: bool | None = None,
        input_signature: Any = None,
        **kwargs: Any,
    ) -> None:
        """keras.Model.export, for batches of any size and length unless a signature says otherwise.

        Where there is a checkpoint, export_saved_model is the better way: what it writes reads text.

        Raises:
            InputError: the model returns a tuple of hidden states, and Keras exports tensors alone.
        """
        if self.returns_hidden_states:
            raise InputError(
                f"Keras cannot export {type(self).__name__}, which returns hidden states besides. export_saved_model "
                "makes a SavedModel of a checkpoint; the models of fine-tuning can be exported here."
            )
        any_size = keras.InputSpec(dtype="int32", shape=(None,) * self.num_axes)
        signature = [dict.fromkeys((INPUT_IDS, INPUT_MASK, SEGMENT_IDS), any_size)]
        super().export(filepath, format, verbose, input_signature or signature, **kwargs)

    def get_config(self) -> dict[str, Any]:
        """Constructor arguments, for keras.saving."""
        return {
            **super().get_config(),
            "config": self.config.to_dict(),
            "remat": self.encoder.remat,
            "constant_graph": self.encoder.constant_graph,
        }

    @classmethod
    def from_config(cls: type[_Made], config: dict[str, Any]) -> _Made:
        """The inverse of get_config."""
        return cls(**config)


@keras.saving.register_keras_serializable("albert_tf")
class AlbertModel(ConfiguredModel):
    """The ALBERT encoder (Lan et al., 2019, arXiv 1909.11942; modeling.AlbertModel of the official code).

    The weights exist as soon as the model does.

    Args:
        config: AlbertConfig, or the dict of one.
        remat: compute what happens inside a block again for its gradient, rather than keep it: the memory of one
            layer instead of L, for a third more arithmetic.
        constant_graph: apply the shared block in a loop of the device: the time to trace and to compile the model
            does not grow with L. The outputs then hold no hidden states of the layers between.
        pooler: False leaves the pooler's weights and "pooled_output" out, for heads that read every position.
        dtype: name of a Keras dtype policy, "float32", "mixed_bfloat16" or "mixed_float16": that of the matrix
            products and of what lies between them. Weights, LayerNorm, softmax and what the heads give are float32.
            "bfloat16" is for serving: the weights are too, which loses what small updates of training would add.

    Example:
        >>> model = AlbertModel(AlbertConfig(
        ...     vocab_size=100, embedding_size=8, hidden_size=16, num_hidden_layers=2,
        ...     num_attention_heads=2, intermediate_size=32))
        >>> model({"input_ids": keras.ops.ones((1, 5), dtype="int32")})["pooled_output"].shape
        TensorShape([1, 16])
    """

    def __init__(
        self,
        config: AlbertConfig | dict[str, Any],
        remat: bool = False,
        constant_graph: bool = False,
        pooler: bool = True,
        name: str = "albert",
        **kwargs: Any,
    ) -> None:
        super().__init__(name=name, autocast=False, **kwargs)
        self.config = read_config(config)
        # Those of quantized weights are refused by the layers, with what to do in their place.
        if self.dtype_policy.quantization_mode is None and self.dtype_policy.name not in DTYPES:
            raise InputError(
                f"`dtype`, or Keras's global policy, must be one of {', '.join(DTYPES)}. "
                f"Received {self.dtype_policy.name}."
            )
        self.embeddings = AlbertEmbeddings(self.config, dtype=self.dtype_policy, name="embeddings")
        self.encoder = SharedEncoder(
            self.config, remat=remat, constant_graph=constant_graph, dtype=self.dtype_policy, name="encoder"
        )
        self.pooler: Any = None
        if pooler:
            self.pooler = Projection(
                self.config.hidden_size,
                activation="tanh",
                kernel_initializer=make_initializer(self.config.initializer_range),
                dtype=self.dtype_policy,
                name="pooler",
            )
        self.seed_generator = keras.random.SeedGenerator(seed=0)
        self.build()

    def build(self, input_shape: Any = None) -> None:
        """Makes the weights; their shapes follow from the config alone."""
        self.embeddings.build()
        self.encoder.build()
        if self.pooler is not None:
            self.pooler.build((None, self.config.hidden_size))

    def call(
        self,
        inputs: Any,
        training: bool = False,
        dropout_seed: Any = None,
        positions: Any = None,
        skip_padding: bool = False,
        wanted: Any = None,
        output_attentions: bool = False,
    ) -> dict[str, Any]:
        """Encodes a batch.

        Args:
            inputs: dict of int32 [B, S]: "input_ids"; "input_mask", 1 for a token, 0 for padding (left out: all
                ones); "segment_ids" (left out: all zeros); "position_ids", below max_position_embeddings, also
                [1, S] (left out: 0 to S - 1, and S is at most max_position_embeddings). Or [B, S] alone, which is
                "input_ids". In their place "inputs_embeds", float [B, S, E], stands for their word embeddings.
                "attention_mask" and "token_type_ids", as Hugging Face has it, are "input_mask" and "segment_ids".
                For N sequences one after another in each row: "sequence_ids", from 1, of the tokens that attend to
                one another; "position_ids", from 0 in each; "sequence_starts", int32 [B, N], where each begins.
                The other columns of a dataset's batches are not read; any other name is an error.
            training: whether dropout is active.
            dropout_seed: int32 [2]: the same seed, the same masks. None draws the next seed of the model's own
                generator, which is what `fit` wants.
            positions: int32 [B, P]: the only positions whose output is read, besides [CLS]; [B, 0] for [CLS] alone.
                The last layer is computed for those alone; only its dropout draws other masks. None: all positions.
            skip_padding: compute nothing for padding; not in training, under XLA, or with several sequences in a row.
                "sequence_output" is zero there, and there are no other "hidden_states". All else stays the same.
            wanted: int32 [B, S], with `skip_padding` and without `positions`: 1 where "sequence_output" is read,
                padding or not. Where there is neither that nor a token, it has no meaning then.
            output_attentions: return "attentions" too, computed besides; not with `skip_padding`, and without a loop.

        Returns:
            dict: "embedding_output" [B, S, E], "hidden_states" tuple of L + 1 [B, S, H] (first: after the E -> H
            projection; with `constant_graph` that and the last), "sequence_output" [B, S, H] (the last of them),
            "pooled_output" float32 [B, H], with "sequence_starts" [B, N, H]. With `positions` "sequence_output" is
            [B, P, H], and "hidden_states" are those before the last. With `output_attentions` "attentions" too, a tuple
            of float32 [B, N, S, S], one for each block applied (L, or L * inner_group_num): the probabilities before
            dropout by which a row's position reads a column's; 0 for padding to be read.
        """
        inputs = self._read(inputs)
        tensors = encoder_inputs(inputs)
        starts = inputs.get(SEQUENCE_STARTS)
        if positions is not None:
            tensors[_POSITIONS] = _positions_to_read(inputs, starts, positions)
        tensors |= {} if wanted is None else {_WANTED: wanted}
        seeds = self._dropout_seeds(training, dropout_seed)
        embedding_output, *states = self._encode(tensors, skip_padding, seeds, training, output_attentions)
        hidden_states, attentions = self._without_attentions(states, output_attentions)
        first, last = _first_and_read(hidden_states.pop(), starts, positions)
        if positions is None and skip_padding and wanted is None:
            last = last * ops.cast(inputs[INPUT_MASK], last.dtype)[:, :, None]
        outputs = {
            "embedding_output": embedding_output,
            "hidden_states": tuple(hidden_states if positions is not None else [*hidden_states, last]),
            "sequence_output": last,
            **attentions,
        }
        return outputs if self.pooler is None else {**outputs, "pooled_output": self.pool(first)}

    def _encode(
        self, tensors: dict[str, Any], skip_padding: bool, seeds: tuple[Any, Any], training: bool, attentions: bool
    ) -> list[Any]:
        """[embedding_output, *hidden_states, *attentions] of the inputs and, if not all are read, positions."""
        embeddings_seed, encoder_seed = seeds

        def encode(*parts: Any) -> list[Any]:
            given = dict(zip(tensors, parts, strict=True))
            embedding_output = self.embeddings(
                given.get(INPUT_IDS),
                given[SEGMENT_IDS],
                position_ids=given.get(POSITION_IDS),
                inputs_embeds=given.get(INPUTS_EMBEDS),
                seed=embeddings_seed,
                training=training,
            )
            hidden_states = self.encoder(
                embedding_output,
                given[INPUT_MASK],
                positions=given.get(_POSITIONS),
                skip_padding=skip_padding,
                wanted=given.get(_WANTED),
                sequence_ids=given.get(SEQUENCE_IDS),
                seed=encoder_seed,
                training=training,
                output_attentions=attentions,
            )
            return [embedding_output, *hidden_states]

        parts = list(tensors.values())
        return in_halves(encode, parts, [self.compute_dtype] * 2) if skip_padding else encode(*parts)

    def _without_attentions(self, states: list[Any], output_attentions: bool) -> tuple[list[Any], dict[str, Any]]:
        """The hidden states of what the encoder gave, and the attentions after them by their name, if they are."""
        if not output_attentions:
            return states, {}
        count = self.encoder.num_applications
        return states[:-count], {"attentions": tuple(states[-count:])}

    def pool(self, first: Any, weights: Any = None) -> Any:
        """The pooled output of first positions, float [..., H] -> float32, by kernel and bias; None: read here."""
        kernel, bias = weights or (self.pooler.kernel, self.pooler.bias)
        pooled = ops.cast(ops.matmul(first, ops.cast(kernel, self.compute_dtype)), "float32")
        return ops.tanh(pooled + ops.cast(bias, "float32"))

    def _dropout_seeds(self, training: bool, dropout_seed: Any) -> tuple[Any, Any]:
        rates = (self.config.hidden_dropout_prob, self.config.attention_probs_dropout_prob)
        if not training or not any(rates):
            return None, None
        if dropout_seed is None:
            dropout_seed = self.seed_generator.next()
        return (
            fold_in(dropout_seed, _EMBEDDINGS_STREAM),
            fold_in(dropout_seed, _ENCODER_STREAM),
        )

    def get_config(self) -> dict[str, Any]:
        """Constructor arguments, for keras.saving."""
        return {**super().get_config(), "pooler": self.pooler is not None}


def _positions_to_read(inputs: dict[str, Any], starts: Any, positions: Any) -> Any:
    """The places of each [CLS], the first in a row or the starts, then the positions: int32 [B, N + P]."""
    firsts = ops.zeros((ops.shape(inputs[SEGMENT_IDS])[0], 1), "int32") if starts is None else starts
    return ops.concatenate([ops.cast(firsts, "int32"), ops.cast(positions, "int32")], axis=1)


def _first_and_read(last: Any, starts: Any, positions: Any) -> tuple[Any, Any]:
    """The last hidden states of each [CLS], [B, H] or [B, N, H], and those that are read besides."""
    if starts is None:
        return last[:, 0], last if positions is None else last[:, 1:]
    if positions is None:
        return gather_positions(last, starts), last
    count = ops.shape(starts)[1]
    return last[:, :count], last[:, count:]
