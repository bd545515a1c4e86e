"""Our own checkpoints as one of the formats: a folder with weights by our names, with or without optimizer state."""

import os

from albert_tf.config import AlbertConfig
from albert_tf.conversion.checkpoint_format import CheckpointFormat, copy_file
from albert_tf.conversion.rows import Row
from albert_tf.conversion.stored_checkpoint import StoredCheckpoint, describe_vocabulary, find_vocabulary
from albert_tf.training import checkpoints
from albert_tf.training.model_agreement import check_same_model


class NativeFormat(CheckpointFormat):
    """Checkpoints that a run left, or that a conversion wrote."""

    name = "albert_tf"
    title = "a checkpoint of albert_tf"

    def recognise(self, path):
        """Whether the path is a checkpoint's folder, or a run's output_dir that has one."""
        return checkpoints.find_checkpoint(path) is not None

    def open(self, path, config_file=None):
        """Reads the weights of the checkpoint, of a run's best or else its newest one."""
        folder = checkpoints.find_checkpoint(path)
        state, config = checkpoints.read_state(folder), checkpoints.read_config(folder)
        if config_file:
            given = AlbertConfig.from_json_file(config_file)
            check_same_model(given, config, folder, "leave --albert_config_file out: the checkpoint has its own")
            config = given
        sha256 = state.vocabulary["sha256"] if state.vocabulary is not None else None
        return StoredCheckpoint(
            source=folder,
            config=config,
            arrays=checkpoints.read_weights(folder),
            # A run keeps it in its output_dir.
            vocabulary_file=find_vocabulary(folder, sha256) or find_vocabulary(os.path.dirname(folder), sha256),
            vocabulary=state.vocabulary,
            sentence_task=state.sentence_task,
            task=state.finetuned_task(folder),
        )

    def rows(self, config, names):
        """Every weight under its own name."""
        return [Row(name, name) for name in names]

    def write(self, folder, config, arrays, vocabulary_file, task=None):
        """Writes weights, config and vocabulary; the checkpoint has no optimizer state, and stands at step 0."""
        vocabulary = None
        if vocabulary_file is not None:
            copy_file(vocabulary_file, os.path.join(folder, os.path.basename(vocabulary_file)))
            vocabulary = describe_vocabulary(vocabulary_file)
        checkpoints.write_weights(folder, config, arrays, vocabulary, task)


NATIVE = NativeFormat()
