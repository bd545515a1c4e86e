"""Outputs of an earlier run: not made again, not mixed with others, replaced only on request."""

from pathlib import Path

import pytest

from albert_tf.runtime.errors import InputError
from data_prep.job.run import create_records


def test_another_set_of_the_same_name_is_not_mixed_with(small_corpus, small_vocabulary, tmp_path, make_job, checksums):
    create_records(make_job(small_corpus, small_vocabulary, tmp_path / "train@2"))
    before = checksums(tmp_path)
    with pytest.raises(InputError, match=r"belongs to other files \(train-00000-of-00002, 2 in all\)"):
        create_records(make_job(small_corpus, small_vocabulary, tmp_path / "train@3"))
    assert checksums(tmp_path) == before


def test_more_files_or_fewer_are_another_set(small_corpus, small_vocabulary, tmp_path, make_job):
    a, b, c = (str(tmp_path / "out" / name) for name in "abc")
    create_records(make_job(small_corpus, small_vocabulary, f"{a},{b}"))
    with pytest.raises(InputError, match=r"a\.manifest\.json belongs to other files \(a, 2 in all\)"):
        create_records(make_job(small_corpus, small_vocabulary, f"{a},{b},{c}"))
    whole = create_records(make_job(small_corpus, small_vocabulary, f"{a},{b},{c}", overwrite=True))
    assert [file["name"] for file in whole.files] == ["a", "b", "c"]
    one = create_records(make_job(small_corpus, small_vocabulary, a, overwrite=True))
    assert [(file["name"], file["examples"]) for file in one.files] == [("a", whole.num_examples)]


def test_the_same_files_in_another_order_are_replaced_on_request_alone(
    small_corpus, small_vocabulary, tmp_path, make_job, checksums
):
    a, b, c = (str(tmp_path / "out" / name) for name in "abc")
    create_records(make_job(small_corpus, small_vocabulary, f"{a},{b},{c}"))
    before = checksums(tmp_path / "out")
    with pytest.raises(InputError, match=r"has these files in another order \(a,b,c\); keep to it, or give --over"):
        create_records(make_job(small_corpus, small_vocabulary, f"{a},{c},{b}"))
    assert checksums(tmp_path / "out") == before
    create_records(make_job(small_corpus, small_vocabulary, f"{a},{c},{b}", overwrite=True))
    after = checksums(tmp_path / "out")
    assert (after["a"], after["b"], after["c"]) == (before["a"], before["c"], before["b"])


def test_what_is_finished_is_not_made_again(small_corpus, small_vocabulary, tmp_path, monkeypatch, make_job, checksums):
    job = make_job(small_corpus, small_vocabulary, tmp_path / "out" / "train@2")
    manifest = create_records(job)
    before = checksums(tmp_path / "out")
    with monkeypatch.context() as patched:
        patched.setattr("data_prep.job.work_units.UnitMaker.tokenize", None)
        # The state that a run leaves when it is killed while clearing up.
        (tmp_path / "out" / ".train.partial.77.tmp").mkdir()
        assert create_records(job) == manifest
    assert checksums(tmp_path / "out") == before
    (tmp_path / "out" / "train-00001-of-00002").write_bytes(b"cut short")
    create_records(job)
    assert checksums(tmp_path / "out") == before


def test_a_changed_flag_or_text_is_refused_unless_overwriting_is_asked_for(
    small_corpus, small_vocabulary, tmp_path, make_job, checksums
):
    output = tmp_path / "out" / "train@2"
    create_records(make_job(small_corpus, small_vocabulary, output))
    before = checksums(tmp_path / "out")
    other = {"settings": {"dupe_factor": 1}}
    with pytest.raises(InputError, match=r"made with other flags \(dupe_factor 2, now 1\); give --overwrite"):
        create_records(make_job(small_corpus, small_vocabulary, output, **other))
    text = Path(small_corpus).read_text()
    Path(small_corpus).write_text(text + "\n\nbada.\nfalo.\n")
    with pytest.raises(InputError, match=r"made with other input \(corpus\.txt\); give --overwrite"):
        create_records(make_job(small_corpus, small_vocabulary, output))
    assert checksums(tmp_path / "out") == before
    Path(small_corpus).write_text(text)
    create_records(make_job(small_corpus, small_vocabulary, output, overwrite=True, **other))
    create_records(make_job(small_corpus, small_vocabulary, tmp_path / "fresh" / "train@2", **other))
    assert checksums(tmp_path / "out") == checksums(tmp_path / "fresh") != before


@pytest.mark.parametrize("scheme", ["", "file://"])
def test_files_of_a_set_that_is_overwritten_go(small_corpus, small_vocabulary, tmp_path, make_job, scheme):
    create_records(make_job(small_corpus, small_vocabulary, tmp_path / "out" / "train@3"))
    (tmp_path / "out" / "train-00001-of-00003").write_bytes(b"something else now")
    (tmp_path / "out" / "train-00000-of-00009").write_bytes(b"of no manifest")
    output = f"{scheme}{tmp_path}/out/train@2"
    with pytest.raises(InputError, match="belongs to other files"):
        create_records(make_job(small_corpus, small_vocabulary, output))
    assert (tmp_path / "out" / "train-00002-of-00003").exists()
    create_records(make_job(small_corpus, small_vocabulary, output, overwrite=True))
    left = ["train-00000-of-00002", "train-00001-of-00002", "train.manifest.json"]
    others = ["train-00000-of-00009", "train-00001-of-00003"]
    assert sorted(path.name for path in (tmp_path / "out").iterdir()) == sorted(left + others)


def test_a_failed_run_leaves_the_older_set_whole(small_corpus, small_vocabulary, tmp_path, make_job, checksums):
    create_records(make_job(small_corpus, small_vocabulary, tmp_path / "r"))
    before = checksums(tmp_path)
    with pytest.raises(InputError):
        create_records(make_job(tmp_path / "nothing.txt", small_vocabulary, tmp_path / "r"))
    assert checksums(tmp_path) == before


def test_files_that_no_manifest_lists_are_not_replaced(small_corpus, small_vocabulary, tmp_path, make_job):
    other = tmp_path / "out" / "notes.txt"
    other.parent.mkdir()
    other.write_text("kept")
    with pytest.raises(InputError, match=f"--output_file: {other} is there already; --overwrite replaces it"):
        create_records(make_job(small_corpus, small_vocabulary, other))
    assert other.read_text() == "kept"
    assert [path.name for path in other.parent.iterdir()] == ["notes.txt"]
    create_records(make_job(small_corpus, small_vocabulary, other, overwrite=True))
    assert (tmp_path / "out" / "notes.txt.manifest.json").exists()
