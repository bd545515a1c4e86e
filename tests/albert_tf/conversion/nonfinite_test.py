"""Weights that are not finite: named and counted by whatever reads a checkpoint, of every format, and not written."""

import keras
import numpy as np
import pytest

from albert_tf.conversion.converter import convert
from albert_tf.conversion.formats import FORMATS
from albert_tf.conversion.pretrained import initialise, load_pretrained
from albert_tf.conversion.rows import Row
from albert_tf.conversion.settings import FORMAT_NAMES, ConversionSettings
from albert_tf.models.named_weights import assign_weights, named_weights
from albert_tf.models.pretraining import AlbertForPretraining
from albert_tf.runtime.errors import InputError

POISONED = "albert/encoder/block_0_0/attention/key_kernel"
TOLD = rf"holds NaN or infinite values: {POISONED} \(3 of 576\); take a checkpoint from before"


# A model that every format can hold: BERT's have neither shared parameters nor a projection.
_SHAPE = {"embedding_size": 24, "parameter_sharing": "none"}


@pytest.fixture(scope="module")
def model(random_model):
    return random_model(**_SHAPE)


def _poison(values):
    values = values.copy()
    values.reshape(-1)[[1, 5, 7]] = np.nan, np.inf, -np.inf
    return values


def _write(format, model, folder, poison=_poison):
    """Writes a checkpoint of a format in which the tensor of one weight is poisoned; returns its path."""
    arrays = format.encode(model.config, {name: value.numpy() for name, value in named_weights(model).items()})
    (row,) = [row for row in format.rows(model.config, named_weights(model)) if getattr(row, "ours", "") == POISONED]
    arrays[row.theirs] = poison(arrays[row.theirs])
    folder.mkdir()
    format.write(str(folder), model.config, arrays, None)
    return str(folder)


@pytest.mark.parametrize("name", FORMAT_NAMES)
def test_reading_them_is_refused_and_says_which_and_how_many(name, model, tmp_path):
    path = _write(FORMATS[name], model, tmp_path / "poisoned")
    before = {name: value.numpy() for name, value in named_weights(model).items()}
    for read in (
        lambda: load_pretrained(path, allow_missing_heads=True),
        lambda: initialise(model, path, allow_missing_heads=True),
        lambda: FORMATS[name].load(path, allow_missing_heads=True),
    ):
        with pytest.raises(InputError, match=TOLD) as error:
            read()
        assert "\n" not in str(error.value)
    assert all(np.array_equal(value.numpy(), before[name]) for name, value in named_weights(model).items())


@pytest.mark.parametrize("name", FORMAT_NAMES)
def test_a_conversion_refuses_them_unless_they_are_allowed(name, model, tmp_path):
    path = _write(FORMATS[name], model, tmp_path / "poisoned")
    settings = {"input": path, "output": str(tmp_path / "new"), "to_format": "albert_tf", "allow_missing_heads": True}
    with pytest.raises(InputError, match=TOLD):
        convert(ConversionSettings(**settings))
    assert not (tmp_path / "new").exists()
    report = convert(ConversionSettings(**settings, allow_nonfinite=True))
    assert f"NaN or infinite values in {POISONED} (3 of 576)" in str(report)
    kept = FORMATS["albert_tf"].open(str(tmp_path / "new")).arrays[POISONED]
    np.testing.assert_array_equal(np.sort(kept[~np.isfinite(kept)]), [-np.inf, np.inf, np.nan])


@pytest.mark.parametrize("name", FORMAT_NAMES)
def test_a_model_that_holds_them_is_not_written(name, random_model, tmp_path):
    model = random_model(**_SHAPE)
    weight = named_weights(model)[POISONED]
    weight.assign(_poison(weight.numpy()))
    with pytest.raises(InputError, match=rf"is not written: the model holds NaN .*{POISONED} \(3 of 576\)"):
        FORMATS[name].save(model, str(tmp_path / "new"))
    assert not list(tmp_path.iterdir())


def test_numbers_that_float32_does_not_reach_are_infinite(model, tmp_path):
    path = _write(FORMATS["hugging_face"], model, tmp_path / "wide", lambda values: values.astype("float64") + 1e300)
    with pytest.raises(InputError, match=r"key_kernel \(576 of 576\)"):
        load_pretrained(path)


def test_an_export_refuses_them(model, vocabulary_file, tmp_path):
    from albert_tf.exports.saved_model import export_saved_model
    from albert_tf.exports.settings import ExportSettings

    path = _write(FORMATS["official"], model, tmp_path / "poisoned")
    settings = ExportSettings(init_checkpoint=path, spm_model_file=vocabulary_file, output_dir=str(tmp_path / "new"))
    with pytest.raises(InputError, match=TOLD):
        export_saved_model(settings)
    assert not (tmp_path / "new").exists()


def test_a_run_does_not_go_on_from_them(random_model):
    with keras.device("cpu"):
        fresh = AlbertForPretraining(random_model().config)
    arrays = {name: value.numpy() for name, value in named_weights(fresh).items()}
    with pytest.raises(InputError, match=rf"there does not fit the model: NaN .* in {POISONED} \(3 of 576\)"):
        assign_weights(fresh, arrays | {POISONED: _poison(arrays[POISONED])}, "there")


def test_tensors_stored_twice_may_be_not_finite_in_the_same_places():
    from albert_tf.conversion.load_report import match

    values = _poison(np.ones(8, "f4"))
    _, report = match([Row("a", "a", ("b",))], {"a": values, "b": values.copy()}, {"a": (8,)}, "there", "a test")
    assert (report.mismatched, report.nonfinite) == ((), ("a (3 of 8)",))
