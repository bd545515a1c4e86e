"""Plans a pre-training run for TPUs or GPUs that need not be there: what fits a chip, how fast a step is, its cost.

Memory, operations and exchanges are those of the TPU's own compiler (pip install 'albert_tf[tpu]', on any Linux
machine), which compiles the very step of run_pretraining --backend=jax; memory and exchanges of a GPU those of the
GPU's, where it is installed too ('albert_tf[cuda-compiler]'). Times are estimates by public figures of the chips. It
takes some minutes.

plan_training --flagfile=configs/pretraining/xxlarge_125k.flags --constant_graph --topology=v5e:16x16,h100:64
"""

import dataclasses
import os

from absl import flags

from albert_tf.official import unmatched_flags
from albert_tf.pretraining.pretraining_flags import define_pretraining_flags
from albert_tf.pretraining.settings import PretrainingSettings
from albert_tf.runtime import command, flag_help
from albert_tf.runtime.json_text import to_json
from albert_tf.runtime.settings_flags import values_of
from albert_tf.runtime.tensorflow_import import import_tensorflow
from albert_tf.training.settings import AUTO

_TEXT, _JSON = "text", "json"


def define_flags(flag_values: flags.FlagValues = flags.FLAGS) -> None:
    """Declares the flags of this command."""
    flag_help.begin_group("The plan", flag_values)
    fv = {"flag_values": flag_values}
    flags.DEFINE_list("topology", None, "Chips: v5e:4x4, v5p:2x2x4, v6e:8x8, a100:8, h100:64, h200:8.", **fv)
    flags.DEFINE_enum("format", _TEXT, (_TEXT, _JSON), "A text to read, or a JSON line a topology.", **fv)
    define_pretraining_flags(flag_values)


def _run() -> None:
    given = flags.FLAGS
    unmatched_flags.check_unmatched("run_pretraining", given)
    # What is compiled for is not here; what is here must not be asked for.
    os.environ["JAX_PLATFORMS"] = "cpu"
    os.environ["TPU_SKIP_MDS_QUERY"] = "1"
    # Several plans may be made at a time.
    os.environ["ALLOW_MULTIPLE_LIBTPU_LOAD"] = "1"
    import_tensorflow(backend="jax")
    from albert_tf.checkpoints.model_agreement import with_dropout
    from albert_tf.config import AlbertConfig
    from albert_tf.planning.chips import parse_topology
    from albert_tf.planning.description import describe_plan
    from albert_tf.planning.plan import PlannedRun, examples_of_a_chip, make_plan, warn_of_flags
    from albert_tf.pretraining.opened_records import check_length

    # A plan reads no records and writes no checkpoints.
    settings = PretrainingSettings(**values_of(PretrainingSettings, given) | {"input_file": "", "output_dir": ""})
    warn_of_flags(settings)
    topologies = {name: parse_topology(name) for name in given.topology}
    config = with_dropout(AlbertConfig.from_json_file(given.albert_config_file), settings)
    check_length(settings, config)
    names = [field.name for field in dataclasses.fields(PlannedRun) if field.name in given]
    values = {name: getattr(settings, name) for name in names}
    if settings.precision == AUTO or not given["precision"].present:
        values["precision"] = "bfloat16"
    run = PlannedRun(config=config, **values)
    # Before the minutes of the first of them.
    for name, topology in topologies.items():
        examples_of_a_chip(run, topology, name)
    for name, topology in topologies.items():
        plan = make_plan(run, topology, name)
        about = {"albert_config_file": given.albert_config_file} | values | dataclasses.asdict(plan)
        print(to_json(about) if given.format == _JSON else describe_plan(run, topology, plan), flush=True)  # noqa: T201


main = command.entry_point(__name__, _run, required=("albert_config_file", "topology"))

if __name__ == "__main__":
    main()
