"""--masking=dynamic: the examples are those of a set with masks, stored once and unmasked; what is said of them."""

import hashlib
import json
import subprocess
import sys
from collections import Counter

import numpy as np
import pytest

from albert_tf.records.masking_rules import MaskingRules, PieceIds, masking_from_json
from albert_tf.records.pretraining_records import check_records, from_example, record_lengths
from albert_tf.records.record_files import read_records
from albert_tf.runtime.errors import InputError
from albert_tf.tokenization.tokenizer import AlbertTokenizer
from data_prep.examples.instances import InstanceSettings
from data_prep.inspection.plot import draw
from data_prep.inspection.report import inspect
from data_prep.job.run import create_records
from data_prep.job.settings import RecordJob

S, P = 32, 5


def _create(corpus, vocabulary, output, masking, **changes):
    settings = InstanceSettings(max_seq_length=S, max_predictions_per_seq=P, dupe_factor=1, masking=masking)
    options = {"num_workers": 1, "part_characters": 2000, **changes}
    manifest = create_records(RecordJob(corpus, str(output), vocabulary, settings, **options))
    return manifest, [str(output.parent / file["name"]) for file in manifest.files]


def _texts(paths) -> Counter:
    """The texts of the examples under their masks, and how often each occurs."""
    texts = Counter()
    for path in paths:
        for _, message in read_records(path):
            instance = from_example(message)
            ids = np.array(instance.input_ids)
            ids[instance.masked_lm_positions] = instance.masked_lm_ids
            texts[(*ids.tolist(), *instance.segment_ids, *instance.token_boundary, instance.label)] += 1
    return texts


@pytest.mark.parametrize("compression", ["none", "gzip"])
def test_the_examples_are_those_of_a_set_with_masks(small_corpus, small_vocabulary, tmp_path, compression):
    _, masked = _create(small_corpus, small_vocabulary, tmp_path / "masked@2", "static")
    manifest, unmasked = _create(
        small_corpus, small_vocabulary, tmp_path / "unmasked@2", "dynamic", compression=compression
    )
    assert _texts(unmasked) == _texts(masked)
    assert manifest.masking == "dynamic"
    rules = MaskingRules(0.15, P)
    assert masking_from_json(manifest.masking_parameters) == (
        rules,
        PieceIds(AlbertTokenizer(small_vocabulary).vocab_size),
    )
    assert not {"predictions", "mask_rate", "window_words_shares"} & manifest.statistics.keys()
    assert record_lengths(unmasked[0]) == (S, P)
    check_records(unmasked, S, P, manifest.vocabulary["size"])


def test_any_number_of_workers_writes_the_same_bytes(small_corpus, small_vocabulary, tmp_path):
    written = []
    for workers in (1, 2):
        folder = tmp_path / str(workers)
        _create(small_corpus, small_vocabulary, folder / "train@3", "dynamic", num_workers=workers)
        written.append({p.name: hashlib.sha256(p.read_bytes()).hexdigest() for p in sorted(folder.iterdir())})
    assert len(written[0]) == 4
    assert written[0] == written[1]


def test_unmasked_records_are_shown_without_figures_of_masks(small_corpus, small_vocabulary, tmp_path):
    manifest, paths = _create(small_corpus, small_vocabulary, tmp_path / "train@2", "dynamic")
    inspection = inspect(paths, AlbertTokenizer(small_vocabulary), num_examples=2)
    assert "masking dynamic" in inspection.text
    assert "0 predictions" in inspection.text
    assert "MASK" not in inspection.text
    assert "shown as" not in inspection.text
    figures = inspection.figures
    assert (figures["examples"], figures["masking"]) == (manifest.num_examples, "dynamic")
    assert json.loads(json.dumps(figures)) == figures
    pytest.importorskip("matplotlib")
    draw(figures, str(tmp_path / "page.png"))
    assert (tmp_path / "page.png").read_bytes().startswith(b"\x89PNG")


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"masking": "dynamic", "dupe_factor": 5}, "--dupe_factor=5, leave it out"),
        ({"masking": "dynamic"}, "stores every example once"),
        ({"masking": "both"}, "--masking must be one of static, dynamic. Received 'both'"),
    ],
)
def test_settings_that_contradict_each_other_are_refused(changes, message):
    with pytest.raises(InputError, match=message):
        InstanceSettings(**changes)


def test_the_command_takes_dynamic_masks_without_a_dupe_factor(small_corpus, small_vocabulary, tmp_path):
    def run(*arguments):
        given = (f"--input_file={small_corpus}", f"--spm_model_file={small_vocabulary}", "--num_workers=1")
        command = [sys.executable, "-m", "data_prep.create_pretraining_data", *given, *arguments]
        return subprocess.run(command, capture_output=True, text=True, check=False)

    finished = run(f"--output_file={tmp_path}/a", "--masking=dynamic", "--max_seq_length=64")
    assert finished.returncode == 0, finished.stderr
    assert "no masks, they are drawn in training" in finished.stderr
    refused = run(f"--output_file={tmp_path}/b", "--masking=dynamic", "--dupe_factor=40")
    assert refused.returncode == 2
    assert "--dupe_factor=40, leave it out" in refused.stderr
    assert len(refused.stderr.strip().splitlines()) == 1
    assert not (tmp_path / "b").exists()
