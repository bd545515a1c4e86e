"""The zip of a submission: files of several output folders, of GLUE or of SuperGLUE, but not of both."""

import zipfile

import pytest

from albert_tf.runtime.errors import InputError
from albert_tf.tasks.submissions import FILES_OF, write_submission_zip


def test_a_zip_file_is_put_together_from_several_outputs(write, tmp_path):
    write("rte/RTE.tsv", "index\tprediction\n0\tnot_entailment\n")
    write("mnli/MNLI-m.tsv", "index\tprediction\n0\tneutral\n")
    write("mnli/test_matched_predictions.jsonl", "{}")
    path = tmp_path / "glue.zip"
    missing = write_submission_zip(str(path), [str(tmp_path / "rte"), str(tmp_path / "mnli")])
    assert sorted([*missing, "RTE.tsv", "MNLI-m.tsv"]) == sorted(FILES_OF["GLUE"])
    with zipfile.ZipFile(path) as archive:
        assert archive.namelist() == ["MNLI-m.tsv", "RTE.tsv"]
        assert archive.read("RTE.tsv") == b"index\tprediction\n0\tnot_entailment\n"
    with pytest.raises(InputError, match=r"RTE\.tsv lies in two folders"):
        write_submission_zip(str(path), [str(tmp_path / "rte"), str(tmp_path / "rte" / ".")])
    with pytest.raises(InputError, match="no submission file"):
        write_submission_zip(str(path), [str(tmp_path)])
    with pytest.raises(InputError, match="typo has no submission file; run_finetuning --do_predict writes one"):
        write_submission_zip(str(path), [str(tmp_path / "rte"), str(tmp_path / "typo")])


def test_files_of_superglue_are_a_submission_of_their_own(write, tmp_path):
    write("rte/RTE.jsonl", '{"idx": 0, "label": "entailment"}\n')
    path = tmp_path / "superglue.zip"
    missing = write_submission_zip(str(path), [str(tmp_path / "rte")])
    assert sorted(missing) == sorted(
        f"{name}.jsonl" for name in ("AX-b", "AX-g", "BoolQ", "CB", "COPA", "MultiRC", "ReCoRD", "WSC", "WiC")
    )
    with zipfile.ZipFile(path) as archive:
        assert archive.namelist() == ["RTE.jsonl"]


def test_files_of_both_leaderboards_are_no_submission(write, tmp_path):
    write("rte/RTE.jsonl", "")
    write("cola/CoLA.tsv", "")
    path = tmp_path / "all.zip"
    with pytest.raises(
        InputError, match=r"CoLA\.tsv and RTE\.jsonl are of GLUE and SuperGLUE; name the folders of one"
    ):
        write_submission_zip(str(path), [str(tmp_path / "rte"), str(tmp_path / "cola")])
    assert not path.exists()
