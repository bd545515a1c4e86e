"""Contestants of compare_peers: the same work done by albert_tf, Hugging Face transformers in torch, and keras-hub.

Each function makes one contestant and returns a function of a number of repetitions. Peers are given every advantage
that their own interface has: the vocabulary scores are computed for the masked positions only, and AdamW stands in
for LAMB, which torch lacks and which does more arithmetic. Shapes: B batch, S sequence, P predictions.
"""

import functools

from albert_tf.benchmarks.train_step import make_step, ragged_batch, random_batch


def train_albert_tf(config, shape, optimizer, precision):
    """run_pretraining's own step."""
    return make_step(config, shape, optimizer, precision)


def torch_model(config, precision, name="AlbertForPreTraining", seed=0):
    """torch, a new model of Hugging Face's class of that name, what its forward pass runs in, and its device.

    Its GELU is torch's own of the same formula, a kernel where "gelu_new" is a chain of them.
    """
    import torch
    import transformers

    values = {
        name: value for name, value in config.to_dict().items() if name not in ("parameter_sharing", "hidden_act")
    }
    torch.manual_seed(seed)
    torch.set_float32_matmul_precision("high" if precision == "bfloat16" else "highest")
    device = "cuda" if torch.cuda.is_available() else "cpu"
    model = getattr(transformers, name)(transformers.AlbertConfig(hidden_act="gelu_pytorch_tanh", **values)).to(device)
    return torch, model, torch.autocast(device, torch.bfloat16, enabled=precision == "bfloat16"), device


def train_hugging_face(config, shape, optimizer, precision, compiled=False):
    """AlbertForPreTraining's parts, scores for the masked positions alone, torch.optim.AdamW."""
    torch, model, precise, device = torch_model(config, precision)
    arrays = random_batch(config, *shape)
    batch = {name: torch.tensor(array, device=device) for name, array in arrays.items()}
    labels, order = batch["masked_lm_ids"].long(), batch["sentence_order_labels"].long()
    positions = batch["masked_lm_positions"].long()

    def losses():
        outputs = model.albert(batch["input_ids"], batch["input_mask"], batch["segment_ids"])
        rows = torch.arange(shape[0], device=device)[:, None]
        scores = model.predictions(outputs.last_hidden_state[rows, positions])
        cross_entropy = torch.nn.functional.cross_entropy
        loss = cross_entropy(scores.float().flatten(0, 1), labels.flatten())
        return loss + cross_entropy(model.sop_classifier(outputs.pooler_output).float(), order)

    forward = torch.compile(losses) if compiled else losses
    update = torch.optim.AdamW(model.parameters(), lr=1e-4, weight_decay=0.01, fused=device == "cuda")
    model.train()

    def steps(count):
        for _ in range(count):
            with precise:
                loss = forward()
            loss.backward()
            torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)
            update.step()
            update.zero_grad()
        # Steps on a GPU are done when the last loss is here.
        loss.item()

    return steps


def train_hugging_face_compiled(config, shape, optimizer, precision):
    """The same through torch.compile."""
    return train_hugging_face(config, shape, optimizer, precision, compiled=True)


def keras_hub_backbone(config):
    """keras-hub's AlbertBackbone of a config, in the dtype policy that is set."""
    import keras_hub

    # Not at the top: it brings Keras and TensorFlow, which are not to count as torch's memory.
    from albert_tf.conversion.keras_hub_config import backbone_config

    # The dtype is that of the policy which is set.
    arguments = {key: value for key, value in backbone_config(config).items() if key != "dtype"}
    return keras_hub.models.AlbertBackbone(**arguments)


def train_keras_hub(config, shape, optimizer, precision):
    """AlbertBackbone with keras-hub's MaskedLMHead, through Model.compile and train_on_batch."""
    import keras
    import keras_hub

    keras.config.set_dtype_policy("mixed_bfloat16" if precision == "bfloat16" else "float32")
    backbone = keras_hub_backbone(config)
    positions = keras.Input((shape[2],), dtype="int32", name="mask_positions")
    head = keras_hub.layers.MaskedLMHead(
        token_embedding=backbone.token_embedding, intermediate_activation="gelu", dtype="float32", name="scores"
    )
    outputs = backbone.output
    scores = head(outputs["sequence_output"], mask_positions=positions)
    order = keras.layers.Dense(2, dtype="float32", name="order")(outputs["pooled_output"])
    model = keras.Model({**backbone.input, "mask_positions": positions}, {"scores": scores, "order": order})
    loss = keras.losses.SparseCategoricalCrossentropy(from_logits=True)
    updates = {"lamb": keras.optimizers.Lamb, "adamw": keras.optimizers.AdamW}
    model.compile(
        updates[optimizer](1e-4, weight_decay=0.01, global_clipnorm=1.0),
        {"scores": loss, "order": loss},
        # On TensorFlow XLA is the slower one; on JAX it is all there is.
        jit_compile="auto" if keras.backend.backend() == "jax" else False,
    )
    batch = random_batch(config, *shape)
    inputs = {
        "token_ids": batch["input_ids"],
        "segment_ids": batch["segment_ids"],
        "padding_mask": batch["input_mask"],
        "mask_positions": batch["masked_lm_positions"],
    }
    labels = {"scores": batch["masked_lm_ids"], "order": batch["sentence_order_labels"]}

    def steps(count):
        for _ in range(count):
            model.train_on_batch(inputs, labels)

    return steps


def encode_albert_tf(config, shape, optimizer, precision, classify=False):
    """The exported SavedModel, loaded again."""
    from albert_tf.benchmarks.inference import export_and_load

    serve = export_and_load(config, precision, classify)
    batch = ragged_batch(config, *shape)
    return lambda count: [serve(batch) for _ in range(count)]


def encode_hugging_face(config, shape, optimizer, precision, compiled=False, classify=False):
    """AlbertModel without gradients, or AlbertForSequenceClassification."""
    name = "AlbertForSequenceClassification" if classify else "AlbertModel"
    torch, model, precise, device = torch_model(config, precision, name)
    batch = {name: torch.tensor(array, device=device) for name, array in ragged_batch(config, *shape).items()}
    model.eval()
    model = torch.compile(model) if compiled else model

    def repeat(count):
        for _ in range(count):
            with torch.no_grad(), precise:
                outputs = model(batch["input_ids"], batch["input_mask"], batch["segment_ids"])
            outputs[0].sum().item()

    return repeat


def encode_hugging_face_compiled(config, shape, optimizer, precision, classify=False):
    """The same through torch.compile."""
    return encode_hugging_face(config, shape, optimizer, precision, compiled=True, classify=classify)


def encode_keras_hub(config, shape, optimizer, precision, classify=False):
    """predict_on_batch, which Keras compiles, of AlbertBackbone or of AlbertTextClassifier."""
    import keras
    import keras_hub

    keras.config.set_dtype_policy("mixed_bfloat16" if precision == "bfloat16" else "float32")
    model = keras_hub_backbone(config)
    if classify:
        model = keras_hub.models.AlbertTextClassifier(model, num_classes=2, preprocessor=None)
    model.compile(jit_compile=True)
    batch = ragged_batch(config, *shape)
    inputs = {
        "token_ids": batch["input_ids"],
        "segment_ids": batch["segment_ids"],
        "padding_mask": batch["input_mask"],
    }
    return lambda count: [model.predict_on_batch(inputs) for _ in range(count)]


# What each contestant needs beside the dependencies of albert_tf.
NEEDS = {"albert_tf": (), "hugging_face": ("torch", "transformers"), "keras_hub": ("keras_hub",)}
NEEDS |= {
    "hugging_face_compiled": NEEDS["hugging_face"],
    "albert_tf_jax": ("jax",),
    "keras_hub_jax": ("jax", "keras_hub"),
}

TASKS = {
    "train": {
        "albert_tf": train_albert_tf,
        "hugging_face": train_hugging_face,
        "hugging_face_compiled": train_hugging_face_compiled,
        "keras_hub": train_keras_hub,
        # The worker lets Keras run on JAX.
        "albert_tf_jax": train_albert_tf,
        "keras_hub_jax": train_keras_hub,
    },
    "encode": {
        "albert_tf": encode_albert_tf,
        "hugging_face": encode_hugging_face,
        "hugging_face_compiled": encode_hugging_face_compiled,
        "keras_hub": encode_keras_hub,
    },
}
# A text to one of two classes: what is served most, and only [CLS] of the last layer is wanted.
TASKS["classify"] = {name: functools.partial(encode, classify=True) for name, encode in TASKS["encode"].items()}
