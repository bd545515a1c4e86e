"""Masked texts of held-out records, and what the newest checkpoint puts into them."""

import dataclasses
import shutil

import pytest
import run_folders

from albert_tf.pretraining.pretrain import run
from albert_tf.records.pretraining_records import PretrainingInstance, to_example
from albert_tf.records.record_files import frame
from albert_tf.reports.masked_samples import fill_in, held_out_texts, read_texts
from albert_tf.reports.records_facts import Records
from albert_tf.reports.run_folder import read_run
from albert_tf.serving.fill_mask import Candidate, FilledText
from albert_tf.tokenization.vocabularies import make_tokenizer


@pytest.fixture
def masked_run(pretrained, small_vocabulary, tmp_path):
    """A run with a vocabulary, and a held-out record of two segments, the second piece and the fifth masked."""
    tokenizer = make_tokenizer(small_vocabulary)
    shutil.copy(small_vocabulary, pretrained / "small.model")
    run_folders.add_checkpoint(pretrained, 1100, vocabulary=tokenizer.describe())
    words = tokenizer.encode("baba dede")
    first, second = words[: len(words) // 2], words[len(words) // 2 :]
    ids = [tokenizer.cls_id, *first, tokenizer.sep_id, *second, *second, *second, *second, tokenizer.sep_id]
    originals = [ids[1], ids[-2]]
    ids[1] = ids[-2] = tokenizer.mask_id
    segments = [0] * (len(first) + 2) + [1] * (len(ids) - len(first) - 2)
    instance = PretrainingInstance(ids, segments, [1] * len(ids), [1, len(ids) - 2], originals, 0)
    path = tmp_path / "heldout.tfrecord"
    path.write_bytes(frame(to_example(instance, 48, 4)))
    return read_run(str(pretrained)), Records("held out", [str(path)]), tokenizer, originals


def test_a_record_is_a_text_whose_masks_have_their_pieces(masked_run):
    folder, records, tokenizer, originals = masked_run
    (text,), (truths,) = held_out_texts(folder, records, 5)
    assert truths == [tokenizer.id_to_piece(piece_id) for piece_id in originals]
    assert text.count("[MASK]") == 2
    # A text in the place of the masks gives the ids of the record again.
    for truth in truths:
        text = text.replace("[MASK]", truth.replace("▁", " ").strip(), 1)
    assert "[CLS]" not in text
    assert len(tokenizer.encode(text)) >= 8
    assert held_out_texts(folder, None, 5) == ([], [])
    other = dataclasses.replace(folder, checkpoints=folder.checkpoints[:-1])
    assert held_out_texts(other, records, 5) == ([], [])


def test_texts_end_where_lines_do(tmp_path):
    path = tmp_path / "texts.txt"
    path.write_bytes("It [MASK]\u2028all [MASK].\r\n\nA\x0c[MASK].".encode())
    assert read_texts(str(path)) == ["It [MASK]\u2028all [MASK].", "A\x0c[MASK]."]


def test_the_guess_that_stood_there_is_marked(masked_run, monkeypatch):
    folder, _, _, _ = masked_run

    class Model:
        def __init__(self, path):
            assert path.endswith("checkpoint-00001100")

        def fill_mask(self, texts, top_k):
            candidates = [Candidate("▁ba", 0.75, ""), Candidate("de", 0.25, "")]
            return [FilledText(text, [candidates] * text.upper().count("[MASK]"), "") for text in texts]

    monkeypatch.setattr("albert_tf.serving.fill_mask.FillMask", Model)
    block = fill_in(folder, ["a [MASK] b[mask]", "[MASK]"], [["de", "▁ba"], []])
    first, second = block.parts
    assert first.parts == ["a ", " b", ""]
    assert [(mask.truth, [guess.is_right for guess in mask.guesses]) for mask in first.masks] == [
        ("-de", [False, True]),
        ("ba", [True, False]),
    ]
    assert [guess.piece for guess in first.masks[0].guesses] == ["ba", "-de"]
    assert (second.parts, second.masks[0].truth) == (["", ""], "")


@pytest.mark.slow
def test_a_real_run_fills_in_texts_and_held_out_records(show, settings, small_vocabulary, write_records, tmp_path):
    held_out = write_records("heldout", 20, seed=1)
    flags = f"--input_file={settings.input_file}\n--eval_input_file={held_out}\n"
    run(dataclasses.replace(settings, spm_model_file=small_vocabulary, resolved_flags=flags))
    page = show(settings.output_dir, num_samples=2)
    note = next(text for text in page.texts if text.startswith("Short records of the held-out data"))
    assert "by the checkpoint of step 12" in note
    assert page.row("Lengths of 20 records, held out", 1) != []
    note = next(text for text in page.texts if text.startswith("By the checkpoint of step 12, over "))
    assert "tokens of 20 records, held out." in note
    assert {"Angle of input and output (degrees)", "Entropy of attention (nats)"} <= set(page.texts)
    texts = tmp_path / "texts.txt"
    texts.write_text("baba [MASK] dede\n")
    page = show(settings.output_dir, texts_file=str(texts))
    assert "By the checkpoint of step 12." in page.texts
    at = page.texts.index("mask 1")
    assert [text[-1] for text in page.texts[at + 2 : at + 7 : 2]] == ["%"] * 3
