"""Plans by a compiler that is made up: its memory and costs are known, so what is made of them can be checked."""

import dataclasses
import json

import pytest

from albert_tf.benchmarks import scaling
from albert_tf.config import AlbertConfig
from albert_tf.planning import gpus, programs
from albert_tf.planning import plan as planning
from albert_tf.planning.chips import CHIPS, parse_topology
from albert_tf.planning.description import describe_plan, flags_of
from albert_tf.planning.plan import PlannedRun, make_plan, warn_of_flags
from albert_tf.pretraining.settings import PretrainingSettings
from albert_tf.runtime.errors import InputError

GRADIENTS = 400


class MadeUpCompiler:
    """Programs whose figures are formulas; `room` is for how many examples at once, `remat_room` with remat."""

    def __init__(self, room, remat_room=0):
        self.rooms = {False: room, True: remat_room}
        self.asked, self.compiled_for = [], []

    def compile_step(self, chips, config, shape, **ways):
        """The figures of one program; see programs.compile_step."""
        self.compiled_for.append(chips)
        examples, layers, gradients = shape[0], config.num_hidden_layers, GRADIENTS * config.num_hidden_groups
        at_once = examples // ways["gradient_accumulation_steps"]
        self.asked.append((at_once, ways["remat"], ways["gradient_accumulation_steps"], layers))
        if at_once > self.rooms[ways["remat"]]:
            return {"fault": "no room"}
        return {
            "argument_bytes": 10,
            "temporary_bytes": 1000 * at_once,
            "peak_bytes": 10 + 1000 * at_once,
            "flops_per_step": 5.0 * at_once + 7.0 * at_once * layers,
            # An update moves seven times the gradients' bytes.
            "bytes_per_step": 7.0 * gradients + 3.0 * at_once + 11.0 * at_once * layers,
            "all_reduce": {"count": 1, "bytes": gradients},
        }


@pytest.fixture
def made_up(monkeypatch):
    """A function that puts a made-up compiler in the place of the real one."""

    def put(*rooms):
        compiler = MadeUpCompiler(*rooms)
        monkeypatch.setattr(programs, "find_chips", lambda topology: ["a chip"])
        monkeypatch.setattr(gpus, "has_compiler", lambda: False)
        monkeypatch.setattr(programs, "compile_step", compiler.compile_step)
        return compiler

    return put


def planned(**changes):
    """A run of a million steps of 256 sequences."""
    values = {
        "config": AlbertConfig(vocab_size=100, num_hidden_layers=12),
        **{"train_batch_size": 256, "max_seq_length": 128, "max_predictions_per_seq": 20},
        **{"num_train_steps": 1_000_000, "optimizer": "lamb", "precision": "bfloat16", "remat": False},
        "constant_graph": True,
    }
    return PlannedRun(**values | changes)


@pytest.mark.parametrize(("groups", "room"), [(1, 64), (4, 64), (4, 16), (12, 16)])
def test_the_weights_of_each_group_are_updated_once(made_up, groups, room):
    made_up(room)
    run = planned(config=AlbertConfig(vocab_size=100, num_hidden_layers=12, num_hidden_groups=groups))
    plan = make_plan(run, parse_topology("v5e:2x2"), "v5e:2x2")
    assert plan.memory_traffic == 7 * GRADIENTS * groups + 64 * (3 + 11 * 12)
    assert plan.operations == 64 * (5 + 7 * 12)


def test_flags_that_a_plan_does_not_go_by_are_told(caplog):
    values = dict.fromkeys(("input_file", "output_dir", "albert_config_file"), "")
    values |= {"num_train_steps": 10, "num_warmup_steps": 0, "train_batch_size": 8, "max_seq_length": 128}
    warn_of_flags(PretrainingSettings(**values))
    assert caplog.text == ""
    warn_of_flags(PretrainingSettings(**values, length_schedule="32:0.5,128:0.5", pack_sequences=True))
    told = "--length_schedule, --pack_sequences; all 10 steps are planned as of 8 examples of 128 pieces"
    assert f"not planned: {told}" in caplog.text


@pytest.mark.parametrize(("room", "at_once"), [(1, 1), (2, 2), (15, 8), (16, 16), (63, 32), (64, 64), (1000, 64)])
def test_as_many_examples_as_fit_and_divide_a_chips_batch(made_up, room, at_once):
    compiler = made_up(room)
    plan = make_plan(planned(), parse_topology("v5e:2x2"), "v5e:2x2")
    assert (plan.examples, plan.examples_at_once) == (64, at_once)
    assert plan.gradient_accumulation_steps == 64 // at_once
    assert not plan.remat
    assert plan.memory["peak"] == 10 + 1000 * at_once
    # No program is compiled twice; the last two are those of the costs.
    assert len(compiler.asked) == len(set(compiler.asked))
    assert [asked[2:] for asked in compiler.asked[-2:]] == [(1, 1), (1, 2)]


def test_remat_where_nothing_fits_without_it(made_up):
    made_up(0, 4)
    plan = make_plan(planned(), parse_topology("v5e:2x2"), "v5e:2x2")
    assert (plan.examples_at_once, plan.remat) == (4, True)
    assert flags_of(planned(), plan)[-3:] == ["--gradient_accumulation_steps=16", "--constant_graph", "--remat"]


def test_remat_that_is_asked_for_is_all_that_is_tried(made_up):
    compiler = made_up(64, 64)
    assert make_plan(planned(remat=True), parse_topology("v5e:2x2"), "v5e:2x2").remat
    assert {asked[1] for asked in compiler.asked} == {True}


def test_a_gpu_takes_nine_tenths_of_its_memory(made_up, monkeypatch):
    made_up(1000)
    monkeypatch.setattr(planning, "_USABLE", 16_010.5 / CHIPS["h100"].memory_bytes)
    assert make_plan(planned(), parse_topology("h100:4"), "h100:4").examples_at_once == 16


def test_a_gpus_own_compiler_says_what_fits(made_up, monkeypatch):
    topology = parse_topology("h100:4")
    stand_in = made_up(16)
    plan = make_plan(planned(), topology, "h100:4")
    assert (plan.memory_by, stand_in.compiled_for) == ("v5p:2x2x1", [["a chip"]] * len(stand_in.asked))
    lines = describe_plan(planned(), topology, plan).splitlines()
    assert lines[1].endswith("GiB (the compiler of v5p:2x2x1, a stand-in)")
    own = made_up(16)
    monkeypatch.setattr(gpus, "has_compiler", lambda: True)
    monkeypatch.setattr(gpus, "find_gpus", lambda kind, count: [f"{count} of {kind}"])
    plan = make_plan(planned(), topology, "h100:4")
    # The programs of one layer and of two are counted by the stand-in.
    assert own.compiled_for[-2:] == [["a chip"]] * 2
    assert own.compiled_for[:-2] == [["4 of h100"]] * (len(own.asked) - 2)
    lines = describe_plan(planned(), topology, plan).splitlines()
    assert lines[1].endswith("GiB (the GPU's compiler)")
    assert "read and written (the compiler of v5p:2x2x1, a stand-in), 0.0 MB summed" in lines[2]
    assert lines[2].endswith("in 1 exchanges (the GPU's compiler)")


def test_a_compiler_that_does_not_start_is_one_line(monkeypatch):
    topologies = pytest.importorskip("jax.experimental.topologies", reason="jax is not installed: the extra [jax]")

    def refuse(*args, **kwargs):
        raise RuntimeError("no such\nplatform")

    monkeypatch.setattr(topologies, "get_topology_desc", refuse)
    with pytest.raises(InputError, match="--topology=h100: no such platform; jax_cuda13_plugin must be of JAX's"):
        gpus.find_gpus("h100", 1)


def test_costs_are_those_of_all_layers_and_one_update(made_up):
    made_up(16)
    plan = make_plan(planned(), parse_topology("v5e:2x2"), "v5e:2x2")
    assert plan.operations == pytest.approx(64 * (5 + 7 * 12))
    assert plan.memory_traffic == pytest.approx(7 * GRADIENTS + 64 * (3 + 11 * 12))
    chip = CHIPS["v5e"]
    assert plan.seconds["products"] == pytest.approx(plan.operations / chip.flops)
    assert plan.seconds["memory"] == pytest.approx(plan.memory_traffic / chip.memory_bandwidth)
    assert plan.seconds["step"] == pytest.approx(
        max(plan.seconds["products"], plan.seconds["memory"]) + plan.seconds["exchange"]
    )
    assert plan.hours == pytest.approx(plan.seconds["step"] * 1e6 / 3600)
    assert plan.chip_hours == pytest.approx(4 * plan.hours)


def test_a_model_of_one_layer_has_its_own_cost(made_up):
    made_up(64)
    run = planned(config=AlbertConfig(vocab_size=100, num_hidden_layers=1))
    assert make_plan(run, parse_topology("v5e:2x2"), "v5e:2x2").operations == pytest.approx(64 * 12)


def test_what_fits_no_chip_is_told(made_up):
    made_up(0, 0)
    with pytest.raises(InputError, match="--topology=v5e:2x2: not one example fits a chip.*no room"):
        make_plan(planned(), parse_topology("v5e:2x2"), "v5e:2x2")


def test_a_batch_that_does_not_divide_by_the_chips_is_told(made_up):
    made_up(64)
    with pytest.raises(InputError, match="--train_batch_size=250 does not divide by the 4 chips.*such as 252"):
        make_plan(planned(train_batch_size=250), parse_topology("v5e:2x2"), "v5e:2x2")


def test_a_plan_is_told_in_six_lines(made_up):
    made_up(16)
    topology = parse_topology("v5e:2x2")
    lines = describe_plan(planned(), topology, make_plan(planned(), topology, "v5e:2x2")).splitlines()
    assert [line.split("  ")[0] for line in lines] == ["run", "fits", "a step", "takes", "the run", "flags"]
    assert "16 at once, one micro-batch after another: 4; 0.00 of 16 GiB (the TPU's compiler)" in lines[1]
    assert lines[-1].endswith("--train_batch_size=256 --gradient_accumulation_steps=4 --constant_graph")


def test_plans_become_a_table_and_a_picture(made_up, tmp_path):
    made_up(16)
    plan = make_plan(planned(), parse_topology("v5e:2x2"), "v5e:2x2")
    line = json.dumps({"albert_config_file": "configs/models/albert_base_v1.json"} | dataclasses.asdict(plan))
    (tmp_path / "plans.jsonl").write_text(f"{line}\n\n{line}\n")
    plans = scaling.read_plans([str(tmp_path / "*.jsonl")])
    header, _, first, second = scaling.format_table(plans).splitlines()
    assert first == second
    assert first.startswith("| albert_base_v1 | v5e:2x2 | 16 of 64 | 0.0 |")
    assert first.count("|") == header.count("|")
    scaling.draw(plans, str(tmp_path / "plans.png"))
    assert (tmp_path / "plans.png").read_bytes().startswith(b"\x89PNG")


def test_no_plans_are_told(tmp_path):
    with pytest.raises(InputError, match="no plans there; plan_training --format=json prints them"):
        scaling.read_plans([str(tmp_path / "*.jsonl")])
