"""Serves models over HTTP by TensorFlow Serving's REST interface: whatever asks that server can ask this one.

serve --model=work/saved_model --page
serve --model=mood=served/sst-2 --model=fill=work/saved_model --port=8501
curl http://127.0.0.1:8501/v1/models/mood:predict -d '{"instances": ["A charming film."]}'

Needs pip install 'albert_tf[serve]'. SIGTERM ends it once every accepted request has its answer. docs/server.md has the
interface, the limits and the metrics.
"""

from absl import flags

from albert_tf.runtime import command, flag_help
from albert_tf.runtime.packages import import_extra
from albert_tf.runtime.settings_flags import define_flags_of, values_of
from albert_tf.runtime.tensorflow_import import import_tensorflow
from albert_tf.server.settings import ServerSettings

_PACKAGES = ("uvicorn", "starlette", "prometheus_client", "orjson")
_PAGE = ("page", "page_sentences_file")


def define_flags(flag_values: flags.FlagValues = flags.FLAGS) -> None:
    """Declares the flags of this command."""
    flag_help.begin_group("The models and the address", flag_values)
    flags.DEFINE_multi_string(
        "model",
        None,
        "NAME=PATH, or PATH alone for the folder's name; an export, a run, a checkpoint, hf:// or official://.",
        flag_values=flag_values,
    )
    names = list(ServerSettings.__dataclass_fields__)
    address, limits = ("host", "port"), [name for name in names if name not in ("host", "port", *_PAGE)]
    define_flags_of(ServerSettings, "The models and the address", flag_values, address)
    define_flags_of(ServerSettings, "The page", flag_values, _PAGE)
    define_flags_of(ServerSettings, "Batches and limits", flag_values, limits)


def _run() -> None:
    given = flags.FLAGS
    settings = ServerSettings(**values_of(ServerSettings, given))
    for name in _PACKAGES:
        import_extra(name, "serve", "serve")
    from albert_tf.exports.export_file import gains_by_frozen_weights
    from albert_tf.server.models import parse_sources
    from albert_tf.serving.threads import usual_threads

    sources = parse_sources(given.model)
    by_tensorflow = [source.path for source in sources if not source.is_portable]
    if by_tensorflow:
        threads = usual_threads(by_tensorflow)
        import_tensorflow(any(map(gains_by_frozen_weights, by_tensorflow)), log_level=3, num_threads=threads)
    from albert_tf.server.serving_loop import serve

    serve(sources, settings)


main = command.entry_point(__name__, _run, required=("model",))

if __name__ == "__main__":
    main()
