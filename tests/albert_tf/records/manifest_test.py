"""Manifests: found by the names they list, the same after reading, refused where they cannot be right."""

import dataclasses
import json

import pytest

from albert_tf.inputs.pretraining_dataset import open_records
from albert_tf.records.manifest import Manifest, find_entries, read_manifest
from albert_tf.records.masking_rules import MaskingRules, PieceIds, masking_to_json
from albert_tf.records.pretraining_records import PretrainingInstance, check_records, to_example
from albert_tf.records.record_files import frame
from albert_tf.runtime.errors import InputError
from albert_tf.tokenization.text_cleaning import TextCleaning

EXAMPLE = to_example(PretrainingInstance([2, 7, 3, 8, 3], [0, 0, 0, 1, 1], [1] * 5, [1], [9], 0), 8, 2)


def _manifest(*names, **changes) -> Manifest:
    return dataclasses.replace(
        Manifest(
            files=[{"name": name, "examples": 2, "bytes": 2 * len(frame(EXAMPLE)), "sha256": "0"} for name in names],
            num_examples=2 * len(names),
            max_seq_length=8,
            max_predictions_per_seq=2,
            sentence_task="sop",
            compression="none",
            vocabulary={"file": "v.model", "sha256": "ab", "size": 10},
        ),
        **changes,
    )


def _make_set(folder, base, *names, **changes) -> list[str]:
    folder.mkdir(exist_ok=True)
    for name in names:
        (folder / name).write_bytes(2 * frame(EXAMPLE))
    (folder / f"{base}.manifest.json").write_text(_manifest(*names, **changes).to_json())
    return [str(folder / name) for name in names]


def test_a_manifest_is_found_by_its_files(tmp_path):
    first = _make_set(tmp_path, "a", "a-0", "a-1")
    _make_set(tmp_path, "b", "b-0")
    assert read_manifest(first) == read_manifest(first[1:]) == _manifest("a-0", "a-1")
    assert find_entries(first[1:]) == {first[1]: _manifest("a-1").files[0]}


def test_files_that_no_manifest_lists_have_none(tmp_path):
    first = _make_set(tmp_path, "a", "a-0")
    with pytest.raises(InputError, match="other: no manifest lists it, and .* lists others; leave it out"):
        read_manifest([*first, str(tmp_path / "other")])
    assert read_manifest([str(tmp_path / "nowhere" / "other")]) is None


def test_other_cleaning_than_the_usual_goes_with_the_vocabulary():
    vocabulary = {"file": "v.model", "sha256": "0" * 64, "size": 60}
    same = {"files": [], "num_examples": 0, "max_seq_length": 8, "max_predictions_per_seq": 2}
    same |= {"sentence_task": "sop", "compression": "none", "vocabulary": vocabulary}
    assert Manifest(**same).vocabulary_and_cleaning == vocabulary
    assert Manifest(**same, flags={"do_lower_case": True, "ngram": 3}).vocabulary_and_cleaning == vocabulary
    cased = Manifest(**same, flags={"do_lower_case": False, "ngram": 3}).vocabulary_and_cleaning
    assert cased == {**vocabulary, "cleaning": dataclasses.asdict(TextCleaning(do_lower_case=False))}


def test_sets_that_agree_are_one(tmp_path):
    both = _make_set(tmp_path / "x", "a", "a-0") + _make_set(tmp_path / "y", "b", "b-0", "b-1")
    assert read_manifest(both).num_examples == 6
    assert [file["name"] for file in read_manifest(both).files] == ["a-0", "b-0", "b-1"]


def test_files_of_one_name_in_two_folders_are_two_files(tmp_path):
    (small,) = _make_set(tmp_path / "x", "train", "train-0")
    (large,) = _make_set(tmp_path / "y", "train", "train-0")
    entry = {"name": "train-0", "examples": 3, "bytes": 3 * len(frame(EXAMPLE)), "sha256": "0"}
    (tmp_path / "y" / "train-0").write_bytes(3 * frame(EXAMPLE))
    (tmp_path / "y" / "train.manifest.json").write_text(_manifest(files=[entry], num_examples=3).to_json())
    assert [one["examples"] for one in find_entries([small, large]).values()] == [2, 3]
    check_records([small, large], 8, 2, 10)
    assert open_records(f"{small},{large}", 8, 2, 10).num_examples == 5
    (tmp_path / "x" / "train-1").write_bytes(2 * frame(EXAMPLE))
    both = _manifest("train-0", "train-1")
    (tmp_path / "x" / "train.manifest.json").write_text(both.to_json())
    assert open_records(f"{tmp_path}/x/train-1,{large}", 8, 2, 10).num_examples == 5


def test_sets_that_agree_have_the_flags_and_the_cleaning_in_which_they_do(tmp_path):
    flags = {"keep_accents": True, "random_seed": 1, "ngram": 3}
    both = _make_set(tmp_path, "a", "a-0", flags=flags) + _make_set(tmp_path, "b", "b-0", flags=flags | {"ngram": 1})
    joined = read_manifest(both)
    assert joined.flags == {"keep_accents": True, "random_seed": 1}
    assert joined.vocabulary_and_cleaning["cleaning"] == dataclasses.asdict(TextCleaning(keep_accents=True))


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"max_seq_length": 16}, "max_seq_length=16, .* has 8"),
        ({"sentence_task": "none"}, "sentence_task=none"),
        ({"vocabulary": {"file": "w.model", "sha256": "cd", "size": 10}}, "another vocabulary"),
        ({"flags": {"keep_accents": True}}, "b.manifest.json: made with --keep_accents=True, .*a.manifest.json"),
    ],
)
def test_sets_that_do_not_agree_are_refused(tmp_path, change, message):
    both = _make_set(tmp_path, "a", "a-0") + _make_set(tmp_path, "b", "b-0", **change)
    with pytest.raises(InputError, match=message):
        read_manifest(both)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("{", "not JSON"),
        ("[]", "not a manifest"),
        ('{"format": "x"}', "not a manifest"),
        (_manifest("a").to_json().replace('"format_version": 1', '"format_version": 9'), "manifest format 9"),
        (_manifest("a").to_json().replace('"num_examples"', '"examples"'), "lacks num_examples"),
    ],
)
def test_a_manifest_that_cannot_be_read_is_one_line(tmp_path, text, message):
    path = _make_set(tmp_path, "a", "a")
    (tmp_path / "a.manifest.json").write_text(text)
    with pytest.raises(InputError, match=message) as caught:
        read_manifest(path)
    assert "a.manifest.json" in str(caught.value)
    assert "\n" not in str(caught.value)


def test_a_file_of_another_size_than_its_manifest_says_is_refused(tmp_path):
    (path,) = _make_set(tmp_path, "a", "a")
    check_records([path], 8, 2, 10)
    with open(path, "ab") as file:
        file.write(frame(EXAMPLE))
    with pytest.raises(InputError, match="its manifest says"):
        check_records([path], 8, 2, 10)


def test_fields_are_plain_json_in_a_fixed_order():
    fields = json.loads(_manifest("a").to_json())
    assert list(fields)[:4] == ["format", "format_version", "files", "num_examples"]


# Values that a fuzzer puts in: of other types, infinite or huge numbers, paths out of the folder.
HOSTILE = (None, True, -1, 0.5, 1e400, 10**30, "", "../x", "/etc/passwd", [], [1], {}, {"a": 1}, [[]], "x" * 70_000)


def _places(value, path=()):
    """The paths of all values in JSON, itself among them."""
    yield path
    if isinstance(value, dict | list):
        for key in value if isinstance(value, dict) else range(len(value)):
            yield from _places(value[key], (*path, key))


def _replaced(value, path, new):
    if not path:
        return new
    copy = value.copy()
    copy[path[0]] = _replaced(value[path[0]], path[1:], new)
    return copy


@pytest.mark.parametrize("masking", ["static", "dynamic"])
def test_a_value_of_any_other_type_is_one_line(tmp_path, masking):
    changes = {"input": [{"name": "t", "bytes": 1, "sha256": "0"}], "flags": {"ngram": 3}, "statistics": {"a": 1}}
    if masking == "dynamic":
        parameters = masking_to_json(MaskingRules(0.2, 2), PieceIds(10))
        changes |= {"masking": masking, "masking_parameters": parameters}
    fields = json.loads(_manifest("a", **changes).to_json())
    name = str(tmp_path / "a.manifest.json")
    for path in _places(fields):
        for new in HOSTILE:
            changed = _replaced(fields, path, new)
            forms = [(json.dumps(changed), changed == fields)]
            if path:
                # From a program that writes no digest, such a value may be right.
                forms.append((json.dumps({key: value for key, value in changed.items() if key != "digest"}), True))
            for text, may_be_taken in forms:
                try:
                    Manifest.from_json(text, name)
                except InputError as error:
                    assert "\n" not in str(error)
                    assert len(str(error)) < 400
                else:
                    assert may_be_taken, (path, new)


def test_a_manifest_names_files_of_its_own_folder_alone(tmp_path):
    for name in ("../a", "/etc/passwd", "/dev/zero", "..", ".", "", "b/a"):
        with pytest.raises(InputError, match="files is not a list of names without folders"):
            Manifest.from_json(_manifest(name).to_json(), "m")


def test_every_bit_of_a_manifest_counts():
    manifest = _manifest("a", flags={"ngram": 3}, statistics={"mean_length": 6.25})
    text = manifest.to_json().encode()
    survived = set()
    for bit in range(8 * len(text)):
        flipped = bytearray(text)
        flipped[bit // 8] ^= 1 << bit % 8
        try:
            found = Manifest.from_json(flipped.decode("utf-8", "replace"), "m")
        except InputError as error:
            assert "\n" not in str(error)
        else:
            assert found == manifest
            survived.add(bit // 8)
    # Spaces between, and the name of the digest itself.
    assert all(text[place : place + 1].isspace() or b'"digest"' in text[place - 7 : place + 8] for place in survived)


def test_a_manifest_without_a_digest_is_of_an_earlier_version():
    fields = json.loads(_manifest("a").to_json())
    del fields["digest"]
    assert Manifest.from_json(json.dumps(fields), "m") == _manifest("a")
