"""A short run to take apart, and addresses for several workers."""

import socket

import pytest

from albert_tf.training.pretraining_settings import PretrainingSettings

STEPS = 12


@pytest.fixture
def free_addresses():
    """A function that finds addresses on this machine at which nothing listens."""

    def find(number: int) -> list[str]:
        sockets = [socket.socket() for _ in range(number)]
        for one in sockets:
            one.bind(("127.0.0.1", 0))
        addresses = [f"127.0.0.1:{one.getsockname()[1]}" for one in sockets]
        for one in sockets:
            one.close()
        return addresses

    return find


@pytest.fixture
def settings(write_records, small_config, tmp_path) -> PretrainingSettings:
    """Of a run of twelve steps that takes three checkpoints."""
    config_file = str(tmp_path / "config.json")
    small_config.to_json_file(config_file)
    return PretrainingSettings(
        albert_config_file=config_file,
        input_file=write_records("train", 50),
        output_dir=str(tmp_path / "run"),
        max_seq_length=16,
        max_predictions_per_seq=4,
        train_batch_size=8,
        eval_batch_size=8,
        num_train_steps=STEPS,
        num_warmup_steps=2,
        learning_rate=0.01,
        save_checkpoints_steps=4,
        log_steps=3,
        random_seed=1,
        resolved_flags="--seed\n",
    )
