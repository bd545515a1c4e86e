"""Damaged exports, vocabularies and descriptions of tasks: every one is refused in one line, none is used."""

import copy
import hashlib
import json
import os
import random
import resource
import shutil
import signal
import sys
from pathlib import Path

import pytest

from albert_tf.checkpoints.finetuned_task import FinetunedTask
from albert_tf.exports.export_file import check_files, read_export, write_export
from albert_tf.exports.loading import load_export
from albert_tf.runtime.errors import InputError
from albert_tf.serving.input_fields import ExampleFields
from albert_tf.serving.predictor import Predictor
from albert_tf.tokenization.tokenizer import AlbertTokenizer


def refuses(folder):
    try:
        check_files(folder, read_export(folder))
    except (InputError, OSError) as error:
        assert "\n" not in str(error)
        return True
    return False


@pytest.mark.faults
def test_no_flipped_bit_of_an_export_is_accepted(exports, tmp_path):
    rng, accepted, count = random.Random(0), [], 0
    for kind, source in exports.items():
        folder = tmp_path / kind
        shutil.copytree(source, folder)
        assert not refuses(str(folder))
        for path in sorted(path for path in folder.rglob("*") if path.is_file()):
            whole = path.read_bytes()
            is_account = path.name == "export.json"
            bits = range(8 * len(whole)) if is_account else rng.sample(range(8 * len(whole)), 150)
            for bit in bits:
                damaged = bytearray(whole)
                damaged[bit // 8] ^= 1 << bit % 8
                path.write_bytes(damaged)
                accepted += [] if refuses(str(folder)) else [(path.name, bit)]
                count += 1
            for damaged in (b"", whole[:-1], whole + b"\0", whole * 2):
                path.write_bytes(damaged)
                accepted += [] if refuses(str(folder)) else [(path.name, len(damaged))]
                count += 1
            path.unlink()
            accepted += [] if refuses(str(folder)) else [(path.name, "gone")]
            path.write_bytes(whole)
        assert not refuses(str(folder))
    sys.stdout.write(f"\nflipped bits: {count} cases, {len(accepted)} accepted\n")
    assert count > 20_000
    assert accepted == []


OTHERS = (None, True, 0, -1, 3.5, "", "x", [], ["x"], [1], {}, {"x": 1}, 10**30)


def mutations(values):
    """The JSON object with each value in it, however deep, gone or of another type."""
    places = [[]]
    for place in places:
        value = values
        for key in place:
            value = value[key]
        keys = value if isinstance(value, dict) else range(len(value)) if isinstance(value, list) else ()
        places += [[*place, key] for key in keys]
    for place in places[1:]:
        for other in (*OTHERS, "gone"):
            changed = copy.deepcopy(values)
            inner = changed
            for key in place[:-1]:
                inner = inner[key]
            if other == "gone":
                del inner[place[-1]]
            else:
                inner[place[-1]] = other
            yield place, changed


@pytest.mark.faults
def test_no_type_in_export_json_is_a_traceback(exports, tmp_path, monkeypatch, count_cases):
    monkeypatch.setattr("albert_tf.exports.loading.tf.saved_model.load", lambda _: None)
    cases = count_cases("types in export.json")
    for kind, source in exports.items():
        folder = str(tmp_path / kind)
        shutil.copytree(source, folder)
        about = read_export(folder)

        def load(folder=folder):
            _, found = load_export(folder, ("fill_mask", "classify"))
            if "task" in found:
                task = FinetunedTask.from_dict(found["task"], folder)
                ExampleFields(task.input_fields, task).check({"text": "bada"}, "here")

        for _, changed in mutations({name: value for name, value in about.items() if name not in ("sha256", "format")}):
            monkeypatch.setattr("albert_tf.exports.export_file._files_of", lambda _: [])
            write_export(folder, changed)
            _put_files(folder, changed)
            cases.run(load)
    cases.end(1000, 200)


def _put_files(folder, changed):
    """Seals export.json again with the files of the changed object in place of the true ones."""
    path = Path(folder, "assets.extra", "export.json")
    values = json.loads(path.read_text())
    del values["sha256"], values["files"]
    values |= {"files": changed["files"]} if "files" in changed else {}
    text = json.dumps(values, indent=2).removesuffix("\n}")
    path.write_text(f'{text},\n  "sha256": "{hashlib.sha256(text.encode()).hexdigest()}"\n}}\n')


@pytest.mark.faults
def test_no_type_in_a_task_is_a_traceback(predictors, count_cases):
    cases = count_cases("types in a task")
    for predictor in predictors.values():
        for _, changed in mutations(json.loads(json.dumps(predictor.task.to_dict()))):
            task = cases.run(FinetunedTask.from_dict, changed, "here")
            if task is not None:
                cases.run(ExampleFields, task.input_fields, task)
    cases.end(1000, 200)


@pytest.mark.faults
def test_no_flipped_bit_of_a_vocabulary_ends_the_process(export_vocabulary, tmp_path):
    whole, rng, ends = Path(export_vocabulary).read_bytes(), random.Random(0), {0: 0, 1: 0}
    bits = rng.sample(range(8 * len(whole)), 200) + rng.sample(range(8 * 3000), 200)
    path = tmp_path / "a.model"
    for bit in bits:
        damaged = bytearray(whole)
        damaged[bit // 8] ^= 1 << bit % 8
        path.write_bytes(damaged)
        child = os.fork()
        if child == 0:
            resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
            os.dup2(os.open(os.devnull, os.O_WRONLY), 2)
            signal.alarm(60)
            try:
                tokenizer = AlbertTokenizer(str(path))
                for text in ("Bada GIMO, 1995.", "日本 ﬁno é\u0301 " * 20, "\u202e\0"):
                    tokenizer.encode(text)
                    tokenizer.encode_with_masks(f"[MASK] {text}")
            except InputError:
                os._exit(1)
            except BaseException:
                os._exit(2)
            os._exit(0)
        code = os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])
        assert code in ends, (bit, code)
        ends[code] += 1
    sys.stdout.write(f"\nflipped bits of a vocabulary: {ends[1]} refused in one line, {ends[0]} still sound\n")


def test_a_damaged_vocabulary_beside_a_checkpoint_is_refused_before_it_is_used(save_finetuned, tmp_path):
    save_finetuned(tmp_path / "run", "classification", ("good", "bad"))
    path = tmp_path / "run" / "small.model"
    damaged = bytearray(path.read_bytes())
    damaged[-1000] ^= 1
    path.write_bytes(damaged)
    with pytest.raises(InputError, match="small.model is damaged, or is not the vocabulary that .* was trained with"):
        Predictor(str(tmp_path / "run"))
