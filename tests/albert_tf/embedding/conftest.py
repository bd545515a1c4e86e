"""Settings of a short training of vectors: words of two made-up languages, each text with one of its own language."""

import dataclasses
import json
import random

import pytest

from albert_tf.embedding.settings import EmbeddingSettings

_WORDS = [["baba", "bobo", "dada", "dodo", "fafa"], ["kaka", "lala", "lolo", "mama", "nana"]]


@pytest.fixture
def embedding_settings(tmp_path, small_config, small_vocabulary) -> EmbeddingSettings:
    """Settings of six steps that take two checkpoints; pairs of texts, scored pairs to evaluate by."""
    rng = random.Random(1)
    config_file = str(tmp_path / "config.json")
    changes = {"vocab_size": 60, "max_position_embeddings": 32, "initializer_range": 0.1, "num_hidden_layers": 1}
    dataclasses.replace(small_config, **changes).to_json_file(config_file)

    def text(language):
        return " ".join(rng.choices(_WORDS[language], k=rng.choice((2, 4))))

    rows = [{"text": text(index % 2), "like": text(index % 2)} for index in range(30)]
    (tmp_path / "train.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    pairs = [(text(index % 2), text((index // 2) % 2), int(index % 2 == (index // 2) % 2)) for index in range(12)]
    lines = ["a\tb\tscore", *("\t".join(map(str, pair)) for pair in pairs)]
    (tmp_path / "dev.tsv").write_text("\n".join(lines) + "\n")
    return EmbeddingSettings(
        train_file=str(tmp_path / "train.jsonl"),
        dev_file=str(tmp_path / "dev.tsv"),
        output_dir=str(tmp_path / "run"),
        albert_config_file=config_file,
        spm_model_file=small_vocabulary,
        do_eval=True,
        max_seq_length=16,
        train_batch_size=8,
        eval_batch_size=8,
        num_train_steps=6,
        save_checkpoints_steps=3,
        keep_checkpoint_max=0,
        log_steps=3,
        learning_rate=0.003,
        num_workers=1,
        random_seed=1,
        resolved_flags="--seed\n",
    )
