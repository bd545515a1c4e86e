"""The model card: what it says follows from facts, and what is not known it does not say."""

import dataclasses

import pytest

from albert_tf.checkpoints.checkpoint_state import TrainingState
from albert_tf.checkpoints.finetuned_task import FinetunedTask
from albert_tf.heads.pooling import Pooling
from albert_tf.records.manifest import Manifest
from albert_tf.tokenization.text_cleaning import TextCleaning
from albert_tf.uploading.model_card import CardFacts, model_card
from albert_tf.uploading.provenance import Provenance

FILES = [{"name": "secret-project.tfrecord", "bytes": 5000}]
STATE = TrainingState(step=1200, examples_seen=38400, random_seed=1, input_files=FILES, optimizer="lamb")
MANIFEST = Manifest(
    files=[],
    num_examples=4321,
    max_seq_length=128,
    max_predictions_per_seq=20,
    sentence_task="sop",
    compression="none",
    vocabulary={"file": "v.model", "sha256": "ab" * 32, "size": 60},
    flags={"ngram": 3},
    input=[{"name": "secret.txt", "bytes": 777, "sha256": ""}],
)


@pytest.fixture
def facts(small_config):
    return CardFacts("somebody/model", "0.1.0", small_config, "AlbertForPreTraining", True, Provenance())


def _header(card):
    start, header, _ = card.split("---\n", 2)
    assert start == ""
    return header.splitlines()


def test_a_card_of_nothing_but_a_model_says_no_more(facts):
    card = model_card(facts)
    assert _header(card) == ["library_name: transformers", "pipeline_tag: fill-mask", "tags:", "- albert"]
    assert [line for line in card.splitlines() if line.startswith("## ")] == ["## Model", "## Use"]
    assert "| hidden_size | 16 |" in card
    assert 'albert_tf.load("hf://somebody/model")' in card
    assert 'AutoTokenizer.from_pretrained("somebody/model")' in card
    assert "pre-trained, written by albert_tf 0.1.0." in card


def test_a_model_for_vectors_is_one_of_sentence_transformers(facts):
    known = {"architecture": "AlbertModel", "pooling": Pooling("cls"), "provenance": Provenance("", STATE)}
    card = model_card(dataclasses.replace(facts, **known))
    assert _header(card)[:2] == ["library_name: sentence-transformers", "pipeline_tag: sentence-similarity"]
    assert "for vectors of texts (cls, of length 1), trained by albert_tf 0.1.0." in card
    assert "sentence task" not in card and "pre-trained" not in card
    assert 'SentenceTransformer("somebody/model").encode(' in card
    assert 'albert_tf.Embedder("hf://somebody/model")' in card
    bert = model_card(dataclasses.replace(facts, **known | {"architecture": "BertModel"}))
    assert _header(bert)[-1] == "- bert"
    assert "A BERT, for vectors of texts" in bert


def test_a_run_is_described_by_its_steps_its_flags_its_data_and_its_scores(facts):
    known = Provenance("", STATE, {"learning_rate": "0.01"}, MANIFEST, {"evaluation": {"masked_lm_accuracy": 0.415}})
    card = model_card(dataclasses.replace(facts, provenance=known, license="apache-2.0"))
    assert _header(card)[0] == "license: apache-2.0"
    for row in (
        *("| steps | 1,200 |", "| examples read | 38,400 |", "| optimizer | lamb |", "| `--learning_rate` | 0.01 |"),
        *("| examples | 4,321 |", "| text | 1 file, 777 bytes |", f"| vocabulary | 60 pieces, SHA-256 {'ab' * 32} |"),
        "| evaluation | masked_lm_accuracy | 0.415 |",
    ):
        assert row in card.splitlines()
    assert "pre-trained by albert_tf 0.1.0." in card


def test_names_of_the_users_files_stay_at_home(facts):
    for manifest in (MANIFEST, None):
        known = Provenance("", STATE, {}, manifest)
        assert "secret" not in model_card(dataclasses.replace(facts, provenance=known))


def test_without_a_manifest_the_files_are_counted(facts):
    card = model_card(dataclasses.replace(facts, provenance=Provenance("", STATE)))
    assert "1 file of 5,000 bytes in all; no manifest describes them." in card


def test_a_fine_tuned_model_names_its_task_and_how_its_texts_were_cleaned(facts):
    task = FinetunedTask("classification", 2, ("a|b", "<c>"), "sst-2")
    changes = {"task": task, "architecture": "AlbertForSequenceClassification"}
    card = model_card(dataclasses.replace(facts, **changes))
    assert "pipeline_tag: text-classification" in _header(card)
    assert "fine-tuned for sst-2 (classification: a\\|b, &lt;c>)" in card
    assert "## Texts" not in card
    cased = dataclasses.replace(facts, **changes, cleaning=TextCleaning(do_lower_case=False))
    assert "cleaned with do_lower_case=False, keep_accents=False" in model_card(cased)


def test_without_a_vocabulary_no_tokenizer_is_promised(facts):
    assert "okenizer" not in model_card(dataclasses.replace(facts, has_vocabulary=False))
