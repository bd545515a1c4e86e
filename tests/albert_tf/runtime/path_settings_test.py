"""Settings whose paths are pathlib.Path objects against the same settings with text."""

import dataclasses
import os
import re
from pathlib import Path

import pytest

import albert_tf
from albert_tf.runtime.settings import fields_of
from albert_tf.tasks.registry import TaskOptions

# Each class of settings, what else must be given, and the paths that exclude another.
KINDS = [
    (albert_tf.PretrainingSettings, {}, {"init_embeddings"}),
    (albert_tf.FinetuningSettings, {"task_name": "cola"}, set()),
    (albert_tf.EvaluationSettings, {}, {"output_dir"}),
    (albert_tf.ExportSettings, {}, set()),
    (TaskOptions, {}, set()),
]


def path_fields(kind):
    return [name for name, field in fields_of(kind).items() if os.PathLike in field.kinds]


@pytest.mark.parametrize(("kind", "others", "left_out"), KINDS)
def test_path_objects_make_the_same_settings_as_text(kind, others, left_out):
    names = [name for name in path_fields(kind) if name not in left_out]
    assert len(names) > 2
    of_objects = kind(**others, **{name: Path("work") / name for name in names})
    assert of_objects == kind(**others, **{name: f"work/{name}" for name in names})
    assert {type(getattr(of_objects, name)) for name in names} == {str}


@pytest.mark.parametrize("kind", [kind for kind, _, _ in KINDS])
def test_every_field_that_is_named_like_a_path_takes_path_objects(kind):
    named = [field.name for field in dataclasses.fields(kind) if re.search("_(file|dir|checkpoint)$", field.name)]
    assert sorted({*named} - {*path_fields(kind)}) == []


def test_a_path_object_that_excludes_another_counts_as_given():
    with pytest.raises(albert_tf.InputError, match="--init_embeddings, not both"):
        albert_tf.PretrainingSettings(
            albert_config_file=Path("c"),
            input_file=Path("i"),
            output_dir=Path("o"),
            init_checkpoint=Path("a"),
            init_embeddings=Path("b"),
        )


def test_a_replaced_field_is_text_too():
    settings = albert_tf.ExportSettings(init_checkpoint="model", output_dir="saved")
    assert dataclasses.replace(settings, output_dir=Path("other")).output_dir == "other"
