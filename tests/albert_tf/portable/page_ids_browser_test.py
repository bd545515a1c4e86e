"""Ids of the page of examples/browser in a headless Chromium, beside those of the tokenizers in Python."""

import dataclasses
import json
import random
import shutil

import pytest
from export_page import call

from albert_tf.checkpoints.run_checkpoints import write_weights
from albert_tf.models.named_weights import named_weights
from albert_tf.tokenization.basic_words import split_words
from albert_tf.tokenization.text_cleaning import TextCleaning
from albert_tf.tokenization.vocabularies import make_tokenizer
from albert_tf.tokenization.word_piece_file import INSIDE, WORD_PIECE_SPECIALS

pytestmark = pytest.mark.browser

# Without numbers such as 600,000: "00" and "0", or "0" and "00", are equally good, and rounding decides.
WRITTEN = [
    *("", " ", "\t\n", "bado mite", "  bado   mite ro ", "Bado MITE, ro.", "bado\tmite\nro", "bado\0mite"),
    *(
        "Crème brûlée",
        "Cre\u0300me bru\u0302le\u0301e",
        "\u0301a",
        "a\u0301",
        "naïve façade Łódź İstanbul ı ß ẞ",
        "ﬁne ½ ² ™ Ⅷ",
    ),
    *(
        "1995,",
        "1,995",
        "in 1995, 418,532 of 1,234,567.",
        "12,345,678,901",
        "3,4,5",
        "1995,, 1995,1995,",
        "٣,٤ ３,４ ½,",
    ),
    *(
        "日本語のテキスト、東京。",
        "が か\u3099 ﾊﾟ",
        "中文測試",
        "한국어 각 \u1100\u1161\u11a8",
        "ไทย หนี้",
        "हिन्दी की",
        "தமிழ்",
    ),
    *("😀", "bado😀mite 👩‍👩‍👧 🇫🇷 ☺️", "مرحبا بالعالم", "שָׁלוֹם", "ΟΔΟΣ ΣΑΣ Σ. ΑΣ' ΑΣ'Α", "Привет, Мир! ёЙ"),
    *(
        "[MASK]",
        "[CLS] bado [SEP]",
        "<pad> <unk> <s>",
        "[mask] un[MASK]ed",
        "`` bado '' \"ro\" 'mi'",
        "#!?…—–-_",
        "(a) [b] {c}",
    ),
    *(
        "a\u200bb\u00adc\ufeffd",
        "a\u00a0b\u2003c\u3000d\u2028e\x85f\x1fg",
        "\u00a8 a \u00a8",
        "𝔘𝔫𝔦𝔠𝔬𝔡𝔢 𝟙,𝟚",
        "\U0010ffff \ufffd",
        "badomitero" * 30,
    ),
    *(
        "e\u0323\u0301 \u0301\u0323e",
        "ŉ Ǆ ﬀ ﷺ",
        "１２３，４５６",
        "！？．，",
        "no,1 1,no",
        "0,1 00,11",
        "▁bado ▁ mite",
        "\ud800 bado\udfff",
    ),
]
WITH_MASKS = [
    *(
        "bado [MASK] ro.",
        "[MASK]",
        "[mask] bado [Mask]",
        "un[MASK]able, [MASK] 1995, [MASK]",
        "Crème [MASK]é 日本[MASK]",
    ),
    *("[MASK][MASK]  [MASK] <pad> [CLS]", "  [MASK]  ", "1,[MASK]5 😀[MASK]"),
]


def random_texts(count):
    """Texts of characters of many scripts, digits and commas between."""
    rng = random.Random(0)
    blocks = (
        (0x20, 0x7F),
        (0xA0, 0x250),
        (0x300, 0x400),
        (0x400, 0x530),
        (0x590, 0x700),
        (0x900, 0xA00),
        (0x2000, 0x2150),
    )
    blocks += ((0x3000, 0x3100), (0x4E00, 0x4F00), (0xAC00, 0xAD00), (0xFF00, 0xFFEF), (0x1F600, 0x1F650))
    return [
        "".join(
            chr(rng.randrange(*block)) if rng.random() < 0.6 else rng.choice([" ", ",", "1", "19", "bado", "e"])
            for block in rng.choices(rng.sample(blocks, 3), k=rng.randint(2, 24))
        )
        for _ in range(count)
    ]


TEXTS = [*WRITTEN, *random_texts(100)]


def with_vocabulary(folder, vocabulary, random_model, config):
    """The path of a pre-trained checkpoint with another vocabulary."""
    config = dataclasses.replace(config, vocab_size=make_tokenizer(vocabulary).vocab_size)
    folder.mkdir()
    weights = {name: variable.numpy() for name, variable in named_weights(random_model(config)).items()}
    write_weights(str(folder), config, weights, None)
    shutil.copy(vocabulary, folder / ("vocab.txt" if vocabulary.endswith(".txt") else "small.model"))
    return str(folder)


def write_word_pieces(path, cleaning):
    """The path of a WordPiece vocabulary: words of the texts, and most of their characters."""
    words = sorted({word for text in TEXTS for word in split_words(text, cleaning)})
    characters = sorted({character for word in words for character in word})
    known = [character for number, character in enumerate(characters) if number % 10]
    pieces = [*WORD_PIECE_SPECIALS, *known, *(INSIDE + character for character in known), *words[::3]]
    path.write_text("".join(f"{piece}\n" for piece in dict.fromkeys(pieces)), encoding="utf-8", newline="\n")
    return str(path)


@pytest.fixture(scope="module")
def vocabularies(train_pieces, export_vocabulary):
    """A function of a name to a vocabulary: of many scripts and numbers, of made-up words, the published one."""
    texts = [text.replace("\n", " ") for text in TEXTS if text.isprintable() and text.strip()]
    numbers = [f"in {year}, {year % 90},{year % 900:03} of {year}," for year in range(1900, 2000)]
    return {"scripts": lambda: train_pieces([*(texts * 20), *(numbers * 5)], 700), "words": lambda: export_vocabulary}


@pytest.mark.parametrize(
    ("name", "cleaning"),
    [
        ("words", TextCleaning()),
        ("scripts", TextCleaning()),
        ("scripts", TextCleaning(False, True, "NFKC")),
        ("scripts", TextCleaning(replace_quotes=True)),
        ("published", TextCleaning()),
    ],
)
def test_ids_are_those_of_the_tokenizer(
    name, cleaning, page, exported, vocabularies, random_model, portable_config, tmp_path, request
):
    vocabulary = request.getfixturevalue("official_model") if name == "published" else vocabularies[name]()
    source = with_vocabulary(tmp_path / "checkpoint", vocabulary, random_model, portable_config)
    folder = exported(source, cleaning=cleaning)
    compare_ids(make_tokenizer(vocabulary, cleaning), page, folder)
    rule = json.loads((folder / "export.json").read_text())["piece_replacements"]
    assert len(rule) > 20 or name == "words"


@pytest.mark.parametrize("cleaning", [TextCleaning(), TextCleaning(False), TextCleaning(keep_accents=True)])
def test_word_pieces_are_those_of_the_tokenizer(cleaning, page, exported, random_model, portable_config, tmp_path):
    vocabulary = write_word_pieces(tmp_path / "vocab.txt", cleaning)
    source = with_vocabulary(tmp_path / "checkpoint", vocabulary, random_model, portable_config)
    folder = exported(source, cleaning=cleaning)
    tokenizer = make_tokenizer(vocabulary, cleaning)
    compare_ids(tokenizer, page, folder)
    shown = call(page(folder), folder, "return model.tokenizer.pieces")
    assert shown == [tokenizer.id_to_piece(piece_id) for piece_id in range(tokenizer.vocab_size)]


def compare_ids(tokenizer, page, folder):
    """Compares the ids of all texts on the page of an export with those of a tokenizer."""
    assert len(TEXTS) > 150
    wanted = [*map(tokenizer.encode, TEXTS), *map(tokenizer.encode_with_masks, WITH_MASKS)]
    code = f"return [...{json.dumps(TEXTS)}.map((text) => model.tokenizer.encode(text)),"
    code += f" ...{json.dumps(WITH_MASKS)}.map((text) => model.tokenizer.encodeWithMasks(text))]"
    found = call(page(folder), folder, code)
    texts = [*TEXTS, *WITH_MASKS]
    assert {text: ids for text, ids, want in zip(texts, found, wanted, strict=True) if ids != want} == {}
