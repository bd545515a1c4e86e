r"""Trains a model to make vectors of texts: of single texts, of pairs that belong together, or of pairs with scores.

Started again with the same flags, it goes on from the newest checkpoint in --output_dir. What it leaves there is read
by embed_texts, search_texts, export_model and convert_checkpoint.

train_embeddings --init_checkpoint=runs/base --train_file=texts.txt --output_dir=runs/vectors
train_embeddings --init_checkpoint=runs/base --train_file=questions.jsonl --output_dir=runs/search \
  --dev_file=held_out.jsonl --do_eval
"""

from absl import flags

from albert_tf.embedding.embedding_flags import define_train_embeddings_flags, read_settings
from albert_tf.embedding.settings import EmbeddingSettings
from albert_tf.runtime import allocator, command
from albert_tf.runtime.tensorflow_import import import_tensorflow
from albert_tf.training.training_flags import asks_for_tpu


def define_flags(flag_values: flags.FlagValues = flags.FLAGS) -> None:
    """Declares the flags of this command."""
    define_train_embeddings_flags(flag_values)


def run_with(given: flags.FlagValues = flags.FLAGS) -> None:
    """Does what the flags say."""
    allocator.set_up_memory(release=given.release_memory)
    import_tensorflow(backend=given.backend, joins=asks_for_tpu(given))
    from albert_tf.embedding.train import format_results, run

    settings = read_settings(EmbeddingSettings, given, define_flags)
    print(format_results(run(settings)))  # noqa: T201


main = command.entry_point(__name__, run_with, required=("output_dir",))

if __name__ == "__main__":
    main()
