"""tokenizer.json read by the tokenizers library against AlbertTokenizer: ids, special pieces, pairs, offsets.

The vocabularies are trained here, with pieces for numbers and commas; the published one is used where it is at hand.
"""

import dataclasses
import json
import random
import re
from pathlib import Path

import pytest

import albert_tf
from albert_tf.checkpoints.finetuned_task import FinetunedTask
from albert_tf.conversion.converter import convert
from albert_tf.conversion.hugging_face import save_hugging_face
from albert_tf.conversion.hugging_face_bert import save_hugging_face_bert
from albert_tf.conversion.hugging_face_tokenizer import folder_cleaning, tokenizer_json, write_tokenizer
from albert_tf.conversion.pretrained import load_pretrained
from albert_tf.conversion.settings import ConversionSettings
from albert_tf.finetuning.model_source import model_and_vocabulary
from albert_tf.models.finetuning import make_finetuning_model
from albert_tf.models.pretraining import AlbertForPretraining
from albert_tf.runtime.errors import InputError
from albert_tf.tokenization.text_cleaning import TextCleaning
from albert_tf.tokenization.tokenizer import AlbertTokenizer
from albert_tf.tokenization.vocabularies import make_tokenizer
from albert_tf.tokenization.vocabulary_file import parse_model
from tests.support.word_pieces import write_word_pieces

# Of the published vocabulary, and what a rule about commas can go wrong with.
NUMBERS = {"▁18,": -2.0, "8,500": -3.0, "▁18": -6.0, "500": -7.0, "▁7,": -2.0, "▁1": -3.0, "00": -6.0}
SWITCHES = {
    "official": {},
    "cased": {"do_lower_case": False},
    "accents kept": {"keep_accents": True, "normalization": "NFKC"},
    "composed": {"normalization": "NFKC", "replace_quotes": True},
}
ODD = [
    *("", " ", "\t\n ", "\0", "\u0301", "a", "A", " a  b\tc\r\n", "a\u00a0\u3000b", "\x1c\x85a\u2028", "\x01\x07a\x7f"),
    *("\u0301dabo", "\u200bdabo", "\ufeffdabo", "\x00 \u0301dabo", "d\u200ba\u200dbo\xad", "\uff9edabo", "Dábo DÉ"),
    *("De\u0301", "\uff44\uff41\uff11", "\ufb01 ½ ①", "\u0130 ß \u1e9e", "中文 \u0256a", "\U0001f44d\U0001f3fd"),
    *("\U0001f468\u200d\U0001f469", "한국", "\u1112\u1161\u11ab", "ガ カ゛ が", "\u2581da", "da\u2581bo"),
    *("``da'' ''bo``", "''", "```", '(da) "bo" – da-bo. £5 €5...', "<PAD> <Unk> x<pAd>y", "[mask] [Cls]da[SEP"),
    *("18,", "18,500", "18,500,", "118,500", "218,5", "7, 18, 500", "a7,", "(18,500)", "18, 18,b", "$18,", "-18,"),
    *("1,1,1", "ΟΔΟΣ", "ΟΔΟΣ.", "Σ", "ΣΑ", "ΑΣ' ", "Α'Σ", "ΑΣΑ ΑΣ ΑΣ'Α", "ΔΑΣ 18,"),
]


@pytest.fixture(scope="module")
def tokenizers():
    return pytest.importorskip("tokenizers", reason="install the dev extra")


@pytest.fixture(scope="module")
def model_file(train_pieces) -> str:
    """A vocabulary of syllables, Greek and Korean ones too, and NUMBERS."""
    rng = random.Random(0)
    syllables = [consonant + vowel for consonant in "bdfgklmnprstδσ" for vowel in "aeiouας"] + list("한국강가がカ")
    words = ["".join(rng.choices(syllables, k=rng.randint(1, 3))) for _ in range(200)]
    endings = ["", ".", "!", "?", "'s", " 0123456789,", " (`[<>]$)"]
    path = Path(train_pieces([" ".join(rng.choices(words, k=8)) + rng.choice(endings) for _ in range(2000)], 190))
    proto = parse_model(path.read_bytes(), str(path))
    known = {piece.piece: piece for piece in proto.pieces}
    for name, score in NUMBERS.items():
        piece = known.get(name) or proto.pieces.add(piece=name)
        piece.score = score
    path.write_bytes(proto.SerializeToString())
    return str(path)


@pytest.fixture(params=list(SWITCHES.values()), ids=list(SWITCHES))
def ours(request, model_file) -> AlbertTokenizer:
    return AlbertTokenizer(model_file, **request.param)


@pytest.fixture
def read(tokenizers):
    """A function that gives a tokenizer of ours to the library."""
    return lambda ours: tokenizers.Tokenizer.from_str(json.dumps(tokenizer_json(ours)))


def _pieces(ours, theirs, texts):
    """The texts whose ids differ, with the pieces of both."""
    encoded = [theirs.encode(text, add_special_tokens=False).ids for text in texts]
    return [
        (text, ours.encode_pieces(text), [ours.id_to_piece(piece_id) for piece_id in ids])
        for text, ids in zip(texts, encoded)
        if ids != ours.encode(text)
    ]


def test_ids_are_those_of_our_tokenizer(ours, read):
    theirs = read(ours)
    rng = random.Random(1)
    texts = ODD + ["".join(rng.choices(ODD, k=rng.randint(2, 4))) for _ in range(2000)]
    # Said in docs/conversion.md: long numbers after a comma; kept marks after what sentencepiece has rules for.
    exceptions = r",\d{4}|\u0301" if ours.cleaning.keep_accents else r",\d{4}"
    texts = [text for text in texts if not re.search(exceptions, text)]
    assert len(texts) > 1500
    assert _pieces(ours, theirs, texts) == []


def test_the_rule_of_digits_and_commas_holds_where_a_piece_goes_across_the_comma(model_file, read):
    ours = AlbertTokenizer(model_file)
    theirs = read(ours)
    assert ours.encode_pieces("18,") == ["▁18", ","]
    assert "8,500" in ours.encode_pieces("18,500")
    texts = [f"{number:,}, {number},x" for number in range(1, 30_000, 7)]
    assert _pieces(ours, theirs, texts) == []
    ruled = {name for name in NUMBERS if name.endswith(",")}
    assert not ruled.intersection(piece for text in texts for piece in theirs.encode(text).tokens)


def test_a_number_that_begins_no_word_loses_its_comma_too(model_file, tmp_path, read):
    ours = AlbertTokenizer(_change(model_file, tmp_path, lambda proto: proto.pieces.add(piece="1,", score=-0.5)))
    assert ours.encode_pieces("51,0") == ["▁", "5", "1", ",", "0"]
    theirs = read(ours)
    assert _pieces(ours, theirs, ["51,0", "51, 0", "a51,", "5151,0"]) == []


def test_every_year_and_day_has_the_official_ids(official_tokenizer, read):
    theirs = read(official_tokenizer)
    texts = [f"On {n}, {n}, and in {n:,} or {n:,}; {n},x ({n})." for n in range(1, 3000)]
    assert _pieces(official_tokenizer, theirs, texts) == []


@pytest.mark.parametrize(
    "text",
    [
        *(
            "[MASK]",
            "a [MASK]",
            "[MASK] a",
            "da [MASK] bo",
            "da[MASK]bo.",
            "is [MASK].",
            "  [MASK] [MASK]  ",
            "[MASK][MASK]",
        ),
        "Da\t[MASK] , 18, [MASK] 18,500",
    ],
)
def test_masks_have_the_ids_of_a_masked_sentence(model_file, read, text):
    ours = AlbertTokenizer(model_file)
    assert read(ours).encode(text, add_special_tokens=False).ids == ours.encode_with_masks(text)


def test_names_in_other_letters_are_ordinary_text(model_file, read):
    ours = AlbertTokenizer(model_file)
    theirs = read(ours)
    assert theirs.token_to_id("<pad>") == ours.pad_id
    assert theirs.encode("<pad>", add_special_tokens=False).ids == [ours.pad_id]
    assert ours.pad_id not in theirs.encode("<PAD>").ids
    theirs.encode_special_tokens = True
    assert _pieces(ours, theirs, ["<pad>", "da<unk>", "[CLS]", "a [MASK] b"]) == []


def test_pairs_have_two_segments_and_are_cut_and_padded_to_one_length(model_file, read):
    ours = AlbertTokenizer(model_file)
    theirs = read(ours)
    expected = ours(["dabo fi"], pairs=["gula"])
    found = theirs.encode("dabo fi", "gula")
    assert found.ids == expected["input_ids"][0].tolist()
    assert found.type_ids == expected["segment_ids"][0].tolist()
    theirs.enable_truncation(6)
    theirs.enable_padding(pad_id=ours.pad_id, pad_token="<pad>")
    batch = theirs.encode_batch(["dabo fi gula dabo fi", "a"])
    assert [len(row.ids) for row in batch] == [6, 6]
    assert batch[0].ids[-1] == ours.sep_id
    assert batch[1].ids[-2:] == [ours.pad_id] * 2
    assert batch[1].attention_mask == [1, 1, 1, 1, 0, 0]


def test_offsets_are_the_places_of_the_pieces(ours, read):
    theirs = read(ours)
    text = "  dabo, 18,500 (fi) \"gula' É\tbo."
    found = theirs.encode(text, add_special_tokens=False)
    plain = [(piece.lstrip("▁"), text[start:end].strip()) for piece, (start, end) in zip(found.tokens, found.offsets)]
    assert {pair for pair in plain if pair[0] != pair[1]} <= {("e", "É"), ("E", "É"), ("<unk>", "É"), ("é", "É")}
    starts, ends = zip(*found.offsets)
    assert list(starts) == sorted(starts)
    assert list(ends) == sorted(ends)
    assert ends[-1] == len(text)
    for odd in ODD:
        places = theirs.encode(odd, add_special_tokens=False).offsets
        assert all(0 <= start <= end <= len(odd) for start, end in places)


def test_decoding_gives_the_text(model_file, read):
    ours = AlbertTokenizer(model_file)
    assert read(ours).decode(ours.encode("Dabo fi, gula (18,500).")) == ours.decode(
        ours.encode("dabo fi, gula (18,500).")
    )


def test_the_same_vocabulary_is_the_same_bytes_and_the_config_fits_them(model_file, tmp_path):
    for name in ("one", "two"):
        (tmp_path / name).mkdir()
        write_tokenizer(str(tmp_path / name), AlbertTokenizer(model_file, keep_accents=True), 17)
    for name in ("tokenizer.json", "tokenizer_config.json"):
        assert (tmp_path / "one" / name).read_bytes() == (tmp_path / "two" / name).read_bytes()
    values = json.loads((tmp_path / "one/tokenizer_config.json").read_text())
    assert values["tokenizer_class"] == "PreTrainedTokenizerFast"
    assert (values["keep_accents"], values["do_lower_case"], values["model_max_length"]) == (True, True, 17)
    stored = json.loads((tmp_path / "one/tokenizer.json").read_text())
    special = {token["content"]: token for token in stored["added_tokens"]}
    assert {name: token["id"] for name, token in special.items()} == {
        **{"<pad>": 0, "<unk>": 1, "[CLS]": 2, "[SEP]": 3, "[MASK]": 4},
    }
    assert [name for name, token in special.items() if token["lstrip"]] == ["[MASK]"]


def _change(model_file, tmp_path, change) -> str:
    proto = parse_model(Path(model_file).read_bytes(), model_file)
    change(proto)
    (tmp_path / "changed.model").write_bytes(proto.SerializeToString())
    return str(tmp_path / "changed.model")


@pytest.mark.parametrize(
    "change, reason",
    [
        (lambda proto: setattr(proto.normalizer_spec, "add_dummy_prefix", False), "white space in a way of its own"),
        (lambda proto: setattr(proto.normalizer_spec, "remove_extra_whitespaces", False), "white space in a way"),
        (lambda proto: setattr(proto.pieces[20], "type", 5), "pieces that are not to be used"),
        (lambda proto: setattr(proto.pieces[1], "piece", "<oov>"), "a name other than <unk>"),
    ],
)
def test_a_vocabulary_that_the_library_reads_otherwise_gets_no_file(model_file, tmp_path, caplog, change, reason):
    ours = AlbertTokenizer(_change(model_file, tmp_path, change))
    write_tokenizer(str(tmp_path), ours, 17)
    assert "no tokenizer.json is written" in caplog.text
    assert reason in caplog.text
    assert not (tmp_path / "tokenizer.json").exists()
    assert json.loads((tmp_path / "tokenizer_config.json").read_text())["tokenizer_class"] == "AlbertTokenizer"


def test_a_conversion_writes_how_text_is_cleaned(random_model, vocabulary_file, tmp_path):
    ours = str(tmp_path / "ours")
    save_hugging_face(random_model(), ours, vocabulary_file)
    cased = {"input": ours, "cleaning": TextCleaning(do_lower_case=False)}
    convert(ConversionSettings(output=str(tmp_path / "theirs"), to_format="hugging_face", **cased))
    types = [
        step["type"]
        for step in json.loads((tmp_path / "theirs/tokenizer.json").read_text())["normalizer"]["normalizers"]
    ]
    assert "Lowercase" not in types
    assert json.loads((tmp_path / "theirs/tokenizer_config.json").read_text())["do_lower_case"] is False
    with pytest.raises(InputError, match="goes with --to=hugging_face, .* not with --to=official"):
        convert(ConversionSettings(output=str(tmp_path / "official"), to_format="official", **cased))
    assert not (tmp_path / "official").exists()
    convert(ConversionSettings(output=str(tmp_path / "again"), to_format="albert_tf", **cased))
    assert albert_tf.load_tokenizer(tmp_path / "again").cleaning == TextCleaning(do_lower_case=False)


@pytest.mark.parametrize(
    ("values", "cleaning"),
    [
        (None, None),
        ({}, None),
        ({"do_lower_case": True, "keep_accents": False}, TextCleaning()),
        ({"do_lower_case": False, "keep_accents": True}, TextCleaning(do_lower_case=False, keep_accents=True)),
        ({"do_lower_case": True, "strip_accents": False}, TextCleaning(keep_accents=True)),
        ({"do_lower_case": False, "strip_accents": None}, TextCleaning(do_lower_case=False)),
        ({"do_lower_case": True, "normalization": "NFKC"}, TextCleaning(normalization="NFKC")),
        ({"do_lower_case": True, "normalization": [False], "replace_quotes": "no"}, TextCleaning()),
    ],
)
def test_a_folder_tells_how_text_is_cleaned(tmp_path, values, cleaning):
    if values is not None:
        (tmp_path / "tokenizer_config.json").write_text(json.dumps(values))
    assert folder_cleaning(str(tmp_path)) == cleaning


def test_flags_leave_the_texts_of_a_fine_tuned_run_as_they_were(random_model, vocabulary_file, tmp_path, caplog):
    model = make_finetuning_model(random_model().config, "classification", 2)
    cleaning = dataclasses.asdict(TextCleaning(keep_accents=True))
    task = FinetunedTask("classification", 2, ("a", "b"), "classification", ("text",), cleaning=cleaning)
    albert_tf.save(model, tmp_path / "ours", vocabulary_file=vocabulary_file, task=task)
    for name in ("hugging_face", "sentence_transformers"):
        places = {"input": str(tmp_path / "ours"), "output": str(tmp_path / name), "to_format": name}
        convert(ConversionSettings(cleaning=TextCleaning(do_lower_case=False), **places))
        assert dataclasses.asdict(folder_cleaning(str(tmp_path / name))) == cleaning
    assert "replace_quotes=False), which is not done" in caplog.text
    assert "which is done" not in caplog.text


BERTS = {"type": "BertNormalizer", "lowercase": False, "strip_accents": None}


@pytest.mark.parametrize(
    ("model", "normalizer", "cleaning"),
    [
        ("WordPiece", BERTS, TextCleaning(do_lower_case=False)),
        ("WordPiece", BERTS | {"lowercase": True}, TextCleaning()),
        ("WordPiece", BERTS | {"lowercase": True, "strip_accents": False}, TextCleaning(keep_accents=True)),
        ("WordPiece", ["NFD", "Lowercase", "StripAccents"], TextCleaning()),
        ("Unigram", ["NFKD", "StripAccents", "Lowercase", "Precompiled"], TextCleaning()),
        ("Unigram", ["NFKD", "StripAccents"], TextCleaning(do_lower_case=False)),
        ("Unigram", ["NFKC", "Lowercase"], TextCleaning(keep_accents=True, normalization="NFKC")),
        ("Unigram", None, TextCleaning(do_lower_case=False, keep_accents=True, normalization="NFKC")),
    ],
)
def test_a_tokenizer_json_alone_tells_how_text_is_cleaned(tmp_path, model, normalizer, cleaning):
    if isinstance(normalizer, list):
        normalizer = {"type": "Sequence", "normalizers": [{"type": kind} for kind in normalizer]}
    values = {"model": {"type": model}, "normalizer": normalizer}
    (tmp_path / "tokenizer.json").write_text(json.dumps(values))
    config = tmp_path / "tokenizer_config.json"
    config.write_text(json.dumps({"tokenizer_class": "PreTrainedTokenizerFast"}))
    assert folder_cleaning(str(tmp_path)) == cleaning
    # Of these classes transformers goes by its own default, whatever tokenizer.json says.
    config.write_text(json.dumps({"tokenizer_class": "BertTokenizer"}))
    assert folder_cleaning(str(tmp_path)) is None


def test_every_switch_of_cleaning_comes_back(random_model, vocabulary_file, tmp_path):
    kept = TextCleaning(keep_accents=True, normalization="NFKC", replace_quotes=True)
    save_hugging_face(random_model(), str(tmp_path / "theirs"), vocabulary_file, cleaning=kept)
    assert folder_cleaning(str(tmp_path / "theirs")) == kept
    for name in ("albert_tf", "sentence_transformers"):
        places = {"input": str(tmp_path / "theirs"), "output": str(tmp_path / name)}
        convert(ConversionSettings(to_format=name, **places))
        tokenizer = albert_tf.load_tokenizer(tmp_path / name)
        assert tokenizer.cleaning == kept
        assert tokenizer.encode("한국 ''") == make_tokenizer(vocabulary_file, kept).encode("한국 ''")


def test_a_cased_folder_is_cased_in_everything_that_is_made_of_it(small_config, tmp_path, caplog):
    vocabulary = write_word_pieces(tmp_path / "vocab.txt")
    config = dataclasses.replace(
        small_config, vocab_size=make_tokenizer(vocabulary).vocab_size, embedding_size=16, parameter_sharing="none"
    )
    cased, folder = TextCleaning(do_lower_case=False), tmp_path / "cased"
    save_hugging_face_bert(AlbertForPretraining(config), str(folder), vocabulary, cleaning=cased)
    assert albert_tf.load_tokenizer(folder).cleaning == cased
    assert albert_tf.load_tokenizer(folder, do_lower_case=True).cleaning == TextCleaning()
    assert load_pretrained(str(folder)).cleaning == cased
    settings = albert_tf.FinetuningSettings(task_name="sst-2", output_dir=str(tmp_path / "run"), init_checkpoint=folder)
    assert model_and_vocabulary(settings)[2] == cased
    for name in ("albert_tf", "hugging_face_bert"):
        convert(ConversionSettings(input=str(folder), output=str(tmp_path / name), to_format=name))
        assert albert_tf.load_tokenizer(tmp_path / name).cleaning == cased
    other = dataclasses.replace(settings, cleaning=TextCleaning(keep_accents=True))
    assert model_and_vocabulary(other)[2] == other.cleaning
    assert "the flags say" in caplog.text
