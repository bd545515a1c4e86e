"""Ids against Hugging Face's ALBERT and BERT tokenizers on Wikipedia prose, and on Chinese translations of programs.

Up to transformers 4 its AlbertTokenizer runs sentencepiece and carries out the digit-comma rule: all ids are equal.
From 5 on it runs the tokenizers library, which lacks that rule and starts a new word after ( ) " - . – £ €: ids are
equal where those do not come up.
"""

import gettext
import shutil
from pathlib import Path

import pytest

from albert_tf.conversion.hugging_face_config import write_config
from albert_tf.conversion.hugging_face_family import ALBERT
from albert_tf.conversion.hugging_face_tokenizer import write_tokenizer
from albert_tf.tokenization.basic_words import split_words
from albert_tf.tokenization.text_cleaning import TextCleaning
from albert_tf.tokenization.tokenizer import AlbertTokenizer
from albert_tf.tokenization.word_pieces import WordPieceTokenizer
from data_prep.text.documents import read_parts, sentences_of
from data_prep.text.text_reading import TextReading
from data_prep.text.vocabulary import USER_DEFINED_SYMBOLS, VocabularyTraining, train
from data_prep.text.word_piece_training import train_word_pieces

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


@pytest.fixture(scope="module")
def chinese() -> list[str]:
    """Lines with ideographs in them, of the message catalogues of installed programs."""
    paths = [
        *Path("/usr/share/locale").glob("zh*/LC_MESSAGES/*.mo"),
        *Path("/usr/share/vim").glob("**/zh_CN.UTF-8/**/*.mo"),
    ]
    lines: dict[str, None] = {}
    for path in sorted(paths):
        with path.open("rb") as file:
            messages = gettext.GNUTranslations(file)._catalog.values()
        lines |= dict.fromkeys(
            line
            for message in messages
            for line in message.splitlines()
            if "\u4e00" <= max(line, default="") <= "\u9fff"
        )
    if len(lines) < 500:
        pytest.skip("few message catalogues in Chinese are installed")
    return list(lines)[:SENTENCES]


@pytest.mark.parametrize("lower_case", [True, False])
def test_word_pieces_are_those_of_bert_s_tokenizers(transformers, sentences, chinese, tmp_path, lower_case):
    cleaning = TextCleaning(do_lower_case=lower_case)
    texts = [*sentences, *chinese]
    pieces = train_word_pieces(lambda: (split_words(text, cleaning) for text in texts[::3]), 8000, 0.999)
    path = tmp_path / "vocab.txt"
    path.write_text("".join(f"{piece}\n" for piece in pieces), encoding="utf-8")
    ours = WordPieceTokenizer(path, lower_case)
    write_tokenizer(str(tmp_path), ours, 512)
    encoded = ours.encode_batch(texts)
    # Theirs stops at words of 100 characters, and takes special pieces in a text for what they are.
    plain = [place for place, text in enumerate(texts) if len(max(text.split(), key=len, default="")) <= 100]
    for kind in (transformers.BertTokenizer, transformers.BertTokenizerFast, transformers.AutoTokenizer):
        theirs = kind.from_pretrained(str(tmp_path))
        found = [theirs.encode(texts[place], add_special_tokens=False) for place in plain]
        assert found == [encoded[place] for place in plain], kind


def test_a_vocabulary_with_bytes_gives_auto_tokenizer_the_same_ids_and_texts(
    transformers, small_config, sentences, chinese, tmp_path
):
    (tmp_path / "c.txt").write_text("\n".join(chinese[::3]), encoding="utf-8")
    training = VocabularyTraining(
        *(str(tmp_path / "c.txt"), str(tmp_path / "spiece")),
        vocab_size=3000,
        character_coverage=0.98,
        byte_fallback=True,
    )
    train(training)
    ours = AlbertTokenizer(tmp_path / "spiece.model")
    ids = {"pad_token_id": ours.pad_id, "bos_token_id": ours.cls_id, "eos_token_id": ours.sep_id}
    write_config(str(tmp_path), small_config, "AlbertModel", ALBERT, ids)
    write_tokenizer(str(tmp_path), ours, 512)
    theirs = transformers.AutoTokenizer.from_pretrained(str(tmp_path))
    special = ("<unk>", "<pad>", "[MASK]", "[CLS]", "[SEP]")
    texts = [text for text in [*chinese, *sentences[:5000]] if not any(name in text for name in special)]
    encoded = ours.encode_batch(texts)
    assert sum(any(piece_id in ours.byte_values for piece_id in one) for one in encoded) > 500
    found = theirs(texts, add_special_tokens=False)["input_ids"]
    differing = [text for text, one, wanted in zip(texts, found, encoded, strict=True) if one != wanted]
    # Two ways of cutting whose scores differ in the last bits alone.
    assert len(differing) <= len(texts) // 2000, differing
    assert theirs.batch_decode(found) == list(map(ours.decode, found))
