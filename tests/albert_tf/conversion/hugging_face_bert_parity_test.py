"""BERTs carried to transformers and back: what it loads, what both compute, what comes home; and a checkpoint of
google-research/bert, which transformers 4 reads with code of its own.
"""

import numpy as np
import pytest
from their_models import load_whole, make_their_model, output_errors

from albert_tf.conversion.hugging_face_bert import load_hugging_face_bert, save_hugging_face_bert
from albert_tf.conversion.official_bert import load_official_bert, save_official_bert
from albert_tf.runtime.errors import InputError

pytestmark = pytest.mark.parity

TOLERANCE = 1e-5
BERT = {"embedding_size": 24, "parameter_sharing": "none"}
ARCHITECTURES = ("BertForPreTraining", "BertForMaskedLM", "BertForNextSentencePrediction", "BertModel")
NEXT_SENTENCE = (("logits", "sentence_order_logits"),)
CONFIGS = {
    "tanh form of gelu": {},
    "erf form of gelu": {"hidden_act": "gelu_erf"},
    "relu": {"hidden_act": "relu", "num_hidden_layers": 1},
    "three segments": {"type_vocab_size": 3, "hidden_act": "gelu_erf"},
}


@pytest.fixture(params=list(CONFIGS.values()), ids=list(CONFIGS))
def ours(request, random_model):
    return random_model(**BERT, **request.param)


def _errors(our_model, their_model, torch):
    of_sentences = type(their_model).__name__ == "BertForNextSentencePrediction"
    return output_errors(our_model, their_model, torch, **({"pairs": NEXT_SENTENCE} if of_sentences else {}))


@pytest.mark.parametrize("architecture", ARCHITECTURES)
def test_transformers_loads_what_we_write_and_computes_the_same(
    ours, architecture, values_of, transformers, torch, tmp_path
):
    folder = str(tmp_path / "theirs")
    save_hugging_face_bert(ours, folder, architecture=architecture)
    model = load_whole(transformers, architecture, folder)
    errors = _errors(ours, model, torch)
    assert max(errors.values()) < TOLERANCE, errors
    # And what it saves again comes home, the same bits.
    model.save_pretrained(str(tmp_path / "again"))
    again = load_hugging_face_bert(str(tmp_path / "again"), allow_missing_heads=True)
    values, others = values_of(ours), values_of(again)
    assert [name for name in again.load_report.matched if not np.array_equal(values[name], others[name])] == []
    assert ("masked_lm/output_bias" in again.load_report.matched) == (architecture in ARCHITECTURES[:2])


@pytest.mark.parametrize("activation", ["gelu", "gelu_new", "relu"])
@pytest.mark.parametrize("kind", ["BertForPreTraining", "BertForMaskedLM", "BertForNextSentencePrediction"])
def test_we_load_what_transformers_writes_and_compute_the_same(kind, activation, transformers, torch, tmp_path):
    theirs = make_their_model(torch, transformers, kind, hidden_act=activation)
    theirs.save_pretrained(str(tmp_path / "theirs"))
    model = load_hugging_face_bert(str(tmp_path / "theirs"), allow_missing_heads=True)
    errors = _errors(model, theirs, torch)
    assert max(errors.values()) < TOLERANCE, errors
    save_hugging_face_bert(model, str(tmp_path / "again"), architecture=kind)
    again = getattr(transformers, kind).from_pretrained(str(tmp_path / "again")).state_dict()
    for name, tensor in theirs.state_dict().items():
        assert torch.equal(tensor, again[name]), name


@pytest.mark.parametrize("has_pooler", [True, False])
def test_a_bare_model_of_theirs_is_read_with_or_without_a_pooler(has_pooler, transformers, torch, tmp_path):
    theirs = make_their_model(torch, transformers, "BertModel", {"add_pooling_layer": has_pooler})
    theirs.save_pretrained(str(tmp_path))
    with pytest.raises(InputError, match="--allow_missing_heads starts them afresh"):
        load_hugging_face_bert(str(tmp_path))
    read = load_hugging_face_bert(str(tmp_path), allow_missing_heads=True)
    assert ("albert/pooler/kernel" in read.load_report.missing) != has_pooler
    errors = _errors(read, theirs, torch)
    assert ("pooler_output" in errors) == has_pooler
    assert max(errors.values()) < TOLERANCE, errors


def test_an_official_checkpoint_is_the_one_that_transformers_reads(random_model, transformers, torch, tmp_path):
    read = getattr(transformers, "load_tf_weights_in_bert", None)
    if read is None:
        pytest.skip("transformers 5 no longer reads checkpoints of google-research/bert")
    ours = random_model(**BERT)
    save_official_bert(ours, str(tmp_path / "official"))
    theirs = make_their_model(torch, transformers, "BertForPreTraining", hidden_act="gelu_new")
    read(theirs, theirs.config, str(tmp_path / "official/bert_model.ckpt"))
    errors = _errors(load_official_bert(str(tmp_path / "official")), theirs, torch)
    assert max(errors.values()) < TOLERANCE, errors
    table = ours.albert.embeddings.word_embeddings
    np.testing.assert_array_equal(theirs.bert.embeddings.word_embeddings.weight.detach().numpy(), np.array(table))
