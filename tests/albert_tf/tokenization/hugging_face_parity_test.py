"""Ids against Hugging Face's ALBERT tokenizer on Wikipedia prose.

Up to transformers 4 its AlbertTokenizer runs sentencepiece and carries out the digit-comma rule: all ids are equal.
From 5 on it runs the tokenizers library, which lacks that rule and starts a new word after ( ) " - . – £ €: ids are
equal where those do not come up.
"""

import shutil

import pytest

from albert_tf.tokenization.tokenizer import AlbertTokenizer
from data_prep.text.documents import read_parts, sentences_of
from data_prep.text.text_reading import TextReading
from data_prep.text.vocabulary import USER_DEFINED_SYMBOLS

pytestmark = pytest.mark.parity

SENTENCES = 20_000


@pytest.fixture(scope="module")
def sentences(shared) -> list[str]:
    path = str(shared / "data" / "wikipedia" / "wiki_share.jsonl.xz")
    found: list[str] = []
    reading = TextReading(split_sentences=True)
    for part in read_parts([path], reading=reading):
        found += [sentence for document in part.documents for sentence in sentences_of(document, reading)]
        if len(found) >= SENTENCES:
            break
    return found[:SENTENCES]


@pytest.fixture(scope="module")
def transformers():
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("USE_TF", "0")
        return pytest.importorskip("transformers", reason="install the parity extra")


@pytest.fixture(scope="module")
def theirs(transformers, official_model, tmp_path_factory):
    folder = tmp_path_factory.mktemp("albert")
    shutil.copyfile(official_model, folder / "spiece.model")
    return transformers.AlbertTokenizer.from_pretrained(str(folder))


def test_ids_are_those_of_the_sentencepiece_tokenizer(transformers, theirs, official_model, sentences):
    if int(transformers.__version__.split(".")[0]) >= 5:
        pytest.skip("transformers 5 has no tokenizer that runs sentencepiece")
    ours = AlbertTokenizer(official_model, replace_quotes=True)
    differing = [text for text in sentences if ours.encode(text) != theirs.encode(text, add_special_tokens=False)]
    assert differing == []


def test_without_quote_replacement_only_doubled_quotes_differ(theirs, transformers, official_tokenizer, sentences):
    if int(transformers.__version__.split(".")[0]) >= 5:
        pytest.skip("transformers 5 has no tokenizer that runs sentencepiece")
    texts = [*sentences, "``quoted''"]
    differing = [
        text for text in texts if official_tokenizer.encode(text) != theirs.encode(text, add_special_tokens=False)
    ]
    assert "``quoted''" in differing
    assert [text for text in differing if "``" not in text and "''" not in text] == []


def test_ids_are_those_of_the_fast_tokenizer_on_plain_words(transformers, official_model, tmp_path, sentences):
    shutil.copyfile(official_model, tmp_path / "spiece.model")
    kind = getattr(transformers, "AlbertTokenizerFast", transformers.AlbertTokenizer)
    fast = kind.from_pretrained(str(tmp_path))
    ours = AlbertTokenizer(official_model, replace_quotes=True)
    plain = [text.rstrip(". ") for text in sentences]
    plain = [text for text in plain if not any(symbol in text for symbol in USER_DEFINED_SYMBOLS)]
    assert len(plain) > SENTENCES / 4
    encoded = [fast.encode(text, add_special_tokens=False) for text in plain]
    assert [ours._apply_digit_comma_rule(ids) for ids in encoded] == ours.encode_batch(plain)
