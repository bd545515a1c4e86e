"""export.json: read; refused in one line where it is damaged or was written by something else."""

import pytest

from albert_tf.exports.export_file import gains_by_frozen_weights, is_export, read_export
from albert_tf.runtime.errors import InputError


@pytest.mark.parametrize(
    "contents, match", [("{", "not JSON: "), ('{"format": "x"}', "not written by export_saved_model")]
)
def test_a_file_that_is_no_account_of_an_export_is_refused(tmp_path, contents, match):
    (tmp_path / "assets.extra").mkdir()
    (tmp_path / "assets.extra" / "export.json").write_text(contents)
    with pytest.raises(InputError, match=f"export.json: {match}"):
        read_export(str(tmp_path))
    assert not is_export(str(tmp_path))
    assert not gains_by_frozen_weights(str(tmp_path))


def test_a_folder_without_one_is_no_export(tmp_path):
    assert not is_export(str(tmp_path / "nowhere"))
    assert not gains_by_frozen_weights("")
