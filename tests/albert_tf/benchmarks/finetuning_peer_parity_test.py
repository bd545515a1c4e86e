"""The peer of fine-tuning learns a task from the batches that run_finetuning has, and is scored as it is."""

import json
import subprocess
import sys
from types import SimpleNamespace

import numpy as np
import pytest

from albert_tf.benchmarks.finetuning_peer import Peer, learn
from albert_tf.finetuning.finetune import open_data, run
from albert_tf.finetuning.settings import FinetuningSettings
from albert_tf.models.finetuning import make_finetuning_model
from albert_tf.optimization.build import build_schedule
from albert_tf.tasks.task import TaskSettings

pytestmark = pytest.mark.parity


@pytest.fixture
def bert_folder(tmp_path):
    """A folder of Hugging Face with a BERT of two small layers and a vocabulary of words."""
    transformers = pytest.importorskip("transformers", reason="transformers is not installed: the extra [parity]")
    words = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]", "glad", "fine", "sad", "grim", "it", "is"]
    folder = tmp_path / "bert"
    transformers.set_seed(1)
    config = transformers.BertConfig(
        vocab_size=len(words), hidden_size=16, num_hidden_layers=2, num_attention_heads=2, intermediate_size=32
    )
    transformers.BertModel(config).save_pretrained(folder)
    (folder / "vocab.txt").write_text("\n".join(words) + "\n")
    return folder


def _run(*arguments):
    command = [sys.executable, "-m", "albert_tf.benchmarks.finetuning_peer", *arguments]
    return subprocess.run(command, capture_output=True, text=True, check=False)


@pytest.fixture
def write_task(tmp_path):
    """A function that writes a task of four texts."""

    def write():
        good, bad = (("it is glad", 1), ("it is fine", 1)), (("it is sad", 0), ("it is grim", 0))
        for split, times in (("train", 40), ("dev", 3)):
            rows = [f"{text}\t{label}" for text, label in (*good, *bad)] * times
            (tmp_path / f"{split}.tsv").write_text("\n".join(["sentence\tlabel", *rows, ""]))

    return write


def test_the_peer_learns_a_task_of_two_words(bert_folder, write_task, tmp_path):
    write_task()
    arguments = ["--task_name=sst-2", f"--data_dir={tmp_path}", f"--init_checkpoint={bert_folder}", "--num_seeds=2"]
    steps = ["--train_batch_size=8", "--num_train_epochs=6", "--learning_rate=3e-3", "--max_seq_length=16"]
    done = _run(*arguments, *steps)
    assert done.returncode == 0, done.stderr
    result = json.loads(done.stdout)
    assert result["benchmark"] == "finetuning_peer"
    assert [seed["random_seed"] for seed in result["seeds"]] == [12345, 12346]
    assert result["scores"]["dev"]["accuracy"] == 1.0
    assert result["spread"]["dev"]["accuracy"] == 0.0


@pytest.mark.parametrize("bias_correction", [True, False])
def test_from_the_same_weights_both_learn_the_same(bert_folder, write_task, tmp_path, bias_correction):
    transformers = pytest.importorskip("transformers", reason="transformers is not installed: the extra [parity]")
    write_task()
    off = dict.fromkeys(("hidden_dropout_prob", "attention_probs_dropout_prob", "classifier_dropout"), 0.0)
    start = transformers.AutoModelForSequenceClassification.from_pretrained(bert_folder, num_labels=2, **off)
    start.save_pretrained(bert_folder)
    settings = FinetuningSettings(
        task_name="sst-2",
        data_dir=str(tmp_path),
        init_checkpoint=str(bert_folder),
        output_dir=str(tmp_path / "ours"),
        task_settings=TaskSettings(max_seq_length=16),
        train_batch_size=8,
        num_train_steps=20,
        learning_rate=1e-3,
        hidden_dropout_prob=0.0,
        attention_probs_dropout_prob=0.0,
        bias_correction=bias_correction,
        do_eval=True,
    )
    run(settings)
    lines = (tmp_path / "ours" / "dev_predictions.jsonl").read_text().splitlines()
    ours = np.array([json.loads(line)["probabilities"]["1"] for line in lines])
    logits = np.array(learn(open_data(settings)[1], settings)["logits"])
    theirs = 1 / (1 + np.exp(logits[:, 0] - logits[:, 1]))
    different = np.abs(ours - theirs).max()
    # The official AdamW takes larger steps at first.
    assert bool(different < 1e-5) is bias_correction, different


def test_an_albert_is_decayed_and_its_rate_rises_and_falls_as_ours(small_config, tmp_path, monkeypatch):
    torch = pytest.importorskip("torch", reason="torch is not installed: the extra [parity]")
    transformers = pytest.importorskip("transformers", reason="transformers is not installed: the extra [parity]")
    sizes = {"hidden_size": 16, "intermediate_size": 32, "num_attention_heads": 2, "vocab_size": 20}
    transformers.AlbertModel(transformers.AlbertConfig(embedding_size=8, **sizes)).save_pretrained(tmp_path)
    data = SimpleNamespace(task=SimpleNamespace(head="classification", labels=("a", "b")))
    peer, seen = Peer(data, str(tmp_path), "float32", seed=1), []

    class Update(torch.optim.AdamW):
        def step(self):
            seen.append([(group["lr"], group["weight_decay"], len(group["params"])) for group in self.param_groups])

    monkeypatch.setattr(torch.optim, "AdamW", Update)
    ids = torch.zeros((2, 4), dtype=torch.int32)
    batch = {"input_ids": ids, "input_mask": ids + 1, "segment_ids": ids, "label": ids[:, 0]}
    monkeypatch.setattr(Peer, "_tensors", lambda peer, batches: batches)
    schedule = build_schedule(
        FinetuningSettings(task_name="sst-2", data_dir="", output_dir="", learning_rate=1e-3), 10, 2
    )
    peer.train([batch] * 4, schedule)
    # Of ten steps two are warm-up; the decay counts from the first, as that of run_finetuning.
    assert [groups[0][0] for groups in seen] == pytest.approx([0.0, 5e-4, 8e-4, 7e-4])
    assert [groups[1][0] for groups in seen] == [groups[0][0] for groups in seen]
    ours = make_finetuning_model(small_config, "classification", 2).trainable_variables
    spared = [variable for variable in ours if any(part in variable.path for part in ("layer_norm", "bias"))]
    (_, decay, decayed), (_, none, others) = seen[0]
    assert (decay, none, decayed, others) == (0.01, 0.0, len(ours) - len(spared), len(spared))


def test_a_task_without_a_head_of_the_peer_is_refused(bert_folder, tmp_path):
    for split in ("train", "dev"):
        (tmp_path / f"{split}.tsv").write_text("it\tA\nis\tB\n\n" * 8)
    arguments = ["--task_name=token_classification", f"--data_dir={tmp_path}", f"--init_checkpoint={bert_folder}"]
    done = _run(*arguments)
    assert done.returncode == 1
    assert "the peer has no head for token_classification" in done.stderr
    assert "Traceback" not in done.stderr
