"""Records with a flipped bit, and names that are not UTF-8: run_evaluation gives the same figures, or one line."""

import os
import random
import shutil

import pytest

from albert_tf.pretraining.evaluation import evaluate_checkpoint
from albert_tf.pretraining.settings import EvaluationSettings
from albert_tf.runtime.errors import InputError

pytestmark = pytest.mark.faults

FLIPS = 12


def test_a_flipped_bit_in_records_or_manifest_changes_no_figure(finished, write_manifest):
    write_manifest(finished.input_file, "a" * 64)
    given = EvaluationSettings(input_file=finished.input_file, output_dir=finished.output_dir)
    whole, rng, refused = evaluate_checkpoint(given), random.Random(0), 0
    for number in range(FLIPS):
        path = (finished.input_file, f"{finished.input_file}.manifest.json")[number % 2]
        with open(path, "r+b") as file:
            contents = file.read()
            place = rng.randrange(len(contents))
            file.seek(place)
            file.write(bytes([contents[place] ^ 1 << rng.randrange(8)]))
        try:
            assert evaluate_checkpoint(given) == whole, (path, place)
        except InputError as error:
            refused += 1
            assert "\n" not in str(error)
            assert "function_node" not in str(error)
            assert os.path.basename(path) in str(error)
        with open(path, "wb") as file:
            file.write(contents)
    assert refused > FLIPS // 2


def test_records_in_a_folder_whose_name_is_not_utf8_are_evaluated(finished, tmp_path):
    folder = os.fsdecode(os.fsencode(tmp_path) + b"/caf\xe9")
    os.mkdir(folder)
    path = os.path.join(folder, "heldout")
    shutil.copy(finished.input_file, path)
    figures = [
        evaluate_checkpoint(EvaluationSettings(input_file=name, output_dir=finished.output_dir))
        for name in (finished.input_file, path)
    ]
    assert figures[0] == figures[1]
