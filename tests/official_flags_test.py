"""Every flag of every official script: in our table with its official default, in docs/official.md, and understood.

official_flags.json lists what the scripts of google-research/ALBERT define (its commit b772393 of April 2023).
"""

import importlib
import json
import textwrap
from pathlib import Path

import pytest
from absl import flags

from albert_tf.runtime.official_flags import (
    SCRIPTS,
    advise,
    describe,
    text_of,
)

ROOT = Path(__file__).resolve().parents[1]
OFFICIAL = json.loads((ROOT / "tests" / "official_flags.json").read_text())
# Left out, it must be known to be left out: --sentence_task says the same.
WITHOUT_DEFAULT = ("random_next_sentence",)
KINDS = {"string": str, "integer": int, "float": float, "bool": bool}


def defined_flags(command):
    """The flags of a command, in a set of flags of its own."""
    package = "data_prep" if command == "create_pretraining_data" else "albert_tf"
    values = flags.FlagValues()
    importlib.import_module(f"{package}.{command}").define_flags(values)
    return values


def type_of(flag):
    kind = {"string enum": "string", "int": "integer"}.get(flag.flag_type(), flag.flag_type())
    return KINDS[kind]


def document(script):
    """The part of docs/official.md about a script's flags."""
    flags = SCRIPTS[script].flags
    same = [name for name, flag in flags.items() if flag.ours == name and not flag.note]
    lines = []
    if same:
        names = ", ".join(f"`--{name}`" for name in same)
        text = f"Under the same name, with the default of the script: {names}."
        lines = [*textwrap.wrap(text, 118, break_on_hyphens=False), ""]
    lines += ["| official flag | its default | here |", "|---|---|---|"]
    for name, flag in flags.items():
        if name not in same:
            default = "" if flag.default is None else text_of(flag.default)
            lines.append(
                f"| `--{name}` | {default} | {describe(flag).replace(f'--{flag.ours}', f'`--{flag.ours}`', 1)} |"
            )
    return "\n".join(lines)


def test_every_official_script_is_in_the_table():
    assert sorted(SCRIPTS) == sorted(OFFICIAL)


@pytest.mark.parametrize("script", OFFICIAL)
def test_every_official_flag_is_in_the_table_with_its_type_and_default(script):
    table = {name: (flag.kind, flag.default) for name, flag in SCRIPTS[script].flags.items()}
    assert table == {name: (KINDS[flag["type"]], flag["default"]) for name, flag in OFFICIAL[script].items()}


@pytest.mark.parametrize("script", OFFICIAL)
def test_every_official_flag_is_declared_by_the_command_of_that_name(script):
    values = defined_flags(script)
    for name, flag in OFFICIAL[script].items():
        assert type_of(values[name]) is KINDS[flag["type"]], name
        assert values[name].default == (None if name in WITHOUT_DEFAULT else flag["default"]), name


@pytest.mark.parametrize("script", OFFICIAL)
def test_the_counterpart_of_every_official_flag_exists_and_all_others_say_what_to_do(script):
    ours = defined_flags(SCRIPTS[script].command)
    for name, flag in SCRIPTS[script].flags.items():
        assert flag.ours is None or flag.ours in ours, name
        assert flag.ours or flag.note or flag.instead, name
        assert (flag.accepts is None) == (not flag.instead), name


@pytest.mark.parametrize("script", SCRIPTS)
def test_the_document_lists_every_flag_as_the_table_has_it(script):
    text = (ROOT / "docs/official.md").read_text()
    part = text.split(f"\n### {script}\n")[1].split("\n#")[0]
    assert part.strip().endswith(document(script)), f"docs/official.md: {script} should end in\n{document(script)}"


@pytest.mark.parametrize(
    ("command", "flag", "words"),
    [
        ("run_finetuning", "train_step", "for that of google-research/ALBERT's run_classifier write --num_train_steps"),
        ("run_finetuning", "warmup_step", "write --num_warmup_steps"),
        ("run_finetuning", "high_only", "run_race write --race_level (high)"),
        ("run_finetuning", "export_dir", "`export_saved_model --output_dir`"),
        ("run_classifier", "num_train_steps", "it is --train_step"),
        ("export_saved_model", "export_path", "write --output_dir"),
        ("convert_checkpoint", "albert_directory", "write --input"),
    ],
)
def test_a_flag_of_the_other_side_is_answered_with_what_to_write(command, flag, words):
    assert words in advise(command, flag)


def test_a_flag_that_has_two_meanings_is_answered_with_both():
    advice = advise("run_finetuning", "predict_file")
    assert "run_squad_v1 write --dev_file" in advice
    assert "run_race is not used" in advice


def test_a_flag_of_neither_side_is_not_answered():
    assert advise("run_finetuning", "xyz") == advise("run_classifier", "xyz") == advise("plot_training", "master") == ""
