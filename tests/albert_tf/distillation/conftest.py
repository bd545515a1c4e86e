"""Settings of a short distillation: texts of made-up words, whose vectors are the means of random vectors of them."""

import dataclasses
import itertools
import random

import numpy as np
import pytest

from albert_tf.distillation.settings import DistillationSettings

_WORDS = ["baba", "bobo", "dada", "dodo", "fafa", "kaka", "lala", "lolo", "mama", "nana"]
_SIZE = 24


@pytest.fixture
def distillation_settings(tmp_path, small_config, small_vocabulary) -> DistillationSettings:
    """Settings of six steps that take two checkpoints; a teacher's vectors in a file, of more numbers than H."""
    rng, numbers = random.Random(1), np.random.default_rng(1)
    config_file = str(tmp_path / "config.json")
    changes = {"vocab_size": 60, "max_position_embeddings": 32, "num_hidden_layers": 1, "embedding_size": 16}
    dataclasses.replace(small_config, **changes).to_json_file(config_file)
    texts = [rng.choices(_WORDS, k=rng.choice((2, 3, 5))) for _ in range(40)]
    (tmp_path / "texts.txt").write_text("".join(" ".join(text) + "\n" for text in [*texts, []]))
    vectors = numbers.standard_normal((len(_WORDS), _SIZE))
    rows = [vectors[[_WORDS.index(word) for word in text]].mean(axis=0) for text in texts]
    np.save(tmp_path / "teacher.npy", np.array([*rows, np.full(_SIZE, np.nan)], np.float16))
    pairs = [
        (" ".join(first), " ".join(second), len({*first} & {*second})) for first, second in itertools.pairwise(texts)
    ]
    (tmp_path / "dev.tsv").write_text("a\tb\tscore\n" + "".join("\t".join(map(str, pair)) + "\n" for pair in pairs))
    inputs = {"teacher": "teacher.npy", "train_file": "texts.txt", "dev_file": "dev.tsv", "output_dir": "run"}
    return DistillationSettings(
        **{name: str(tmp_path / path) for name, path in inputs.items()},
        **{"albert_config_file": config_file, "spm_model_file": small_vocabulary, "do_eval": True, "max_score": 5.0},
        **{"train_batch_size": 8, "eval_batch_size": 8, "max_seq_length": 16, "num_workers": 1},
        **{"num_train_steps": 6, "save_checkpoints_steps": 3, "keep_checkpoint_max": 0, "log_steps": 1},
        **{"random_seed": 1, "resolved_flags": "--seed\n"},
    )
