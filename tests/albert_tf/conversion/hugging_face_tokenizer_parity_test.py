"""The tokenizer of a Hugging Face folder, read by AutoTokenizer where no sentencepiece, protobuf or tiktoken is.

Runs with transformers 4.57 and with 5. Ids are compared with AlbertTokenizer's on 20,000 sentences of Wikipedia.
"""

import json
import subprocess
import sys

import pytest

from albert_tf.conversion.hugging_face_config import write_config
from albert_tf.conversion.hugging_face_family import ALBERT
from albert_tf.conversion.hugging_face_tokenizer import write_tokenizer
from albert_tf.tokenization.tokenizer import AlbertTokenizer
from data_prep.text.documents import read_parts, sentences_of
from data_prep.text.text_reading import TextReading

pytestmark = pytest.mark.parity

SENTENCES = 20_000
# Two ways of cutting a word whose scores differ in the last bits alone; docs/conversion.md tells of them.
MOST_DIFFERENT = 3

_SCRIPT = """
import json, sys
sys.modules.update(dict.fromkeys(("sentencepiece", "tiktoken", "google.protobuf")))
from transformers import AutoTokenizer
tokenizer = AutoTokenizer.from_pretrained(sys.argv[1])
texts = json.load(sys.stdin)
batch = tokenizer(["a b c d e f g h", "a"], padding=True, truncation=True, max_length=6)
tokenizer.save_pretrained(sys.argv[1] + "/again")
again = AutoTokenizer.from_pretrained(sys.argv[1] + "/again")
print(json.dumps({
    "ids": tokenizer(texts, add_special_tokens=False)["input_ids"],
    "again": again(texts[:100], add_special_tokens=False)["input_ids"],
    "pair": dict(tokenizer("The [MASK] of Paris.", "It is [MASK], 18,500.")),
    "batch": dict(batch),
    "offsets": tokenizer("The river, in 1995,  was (wide).", return_offsets_mapping=True)["offset_mapping"],
    "special": [tokenizer.pad_token_id, tokenizer.cls_token_id, tokenizer.sep_token_id, tokenizer.mask_token_id],
    "length": tokenizer.model_max_length,
    "decoded": tokenizer.decode(tokenizer("The river").input_ids, skip_special_tokens=True),
}))
"""


@pytest.fixture
def ask(small_config, tmp_path):
    """A function of (tokenizer, texts) that has AutoTokenizer read the tokenizer's folder, and says what it answers."""
    pytest.importorskip("transformers", reason="install the parity extra")

    def run(tokenizer, texts):
        ids = {"pad_token_id": tokenizer.pad_id, "bos_token_id": tokenizer.cls_id, "eos_token_id": tokenizer.sep_id}
        write_config(str(tmp_path), small_config, "AlbertModel", ALBERT, ids)
        write_tokenizer(str(tmp_path), tokenizer, 512)
        command = [sys.executable, "-c", _SCRIPT, str(tmp_path)]
        result = subprocess.run(command, input=json.dumps(texts), capture_output=True, text=True, check=False)
        assert result.returncode == 0, result.stderr[-2000:]
        return json.loads(result.stdout.splitlines()[-1])

    return run


@pytest.fixture(scope="module")
def sentences(shared) -> list[str]:
    found: list[str] = []
    reading = TextReading(split_sentences=True)
    for part in read_parts([str(shared / "data" / "wikipedia" / "wiki_share.jsonl.xz")], reading=reading):
        found += [sentence for document in part.documents for sentence in sentences_of(document, reading)]
        if len(found) >= SENTENCES:
            break
    return found[:SENTENCES]


def test_ids_are_the_official_ones(official_tokenizer, sentences, ask):
    expected = official_tokenizer.encode_batch(sentences)
    answer = ask(official_tokenizer, sentences)
    differing = [text for text, ids, wanted in zip(sentences, answer["ids"], expected, strict=True) if ids != wanted]
    assert len(differing) <= MOST_DIFFERENT, differing
    assert answer["again"] == answer["ids"][:100]
    first, second = map(official_tokenizer.encode_with_masks, ("The [MASK] of Paris.", "It is [MASK], 18,500."))
    cls, sep = official_tokenizer.cls_id, official_tokenizer.sep_id
    assert answer["pair"]["input_ids"] == [cls, *first, sep, *second, sep]
    assert answer["pair"]["token_type_ids"] == [0] * (len(first) + 2) + [1] * (len(second) + 1)
    assert answer["special"] == [0, 2, 3, 4]
    assert answer["length"] == 512
    assert answer["decoded"] == "the river"
    text = "The river, in 1995,  was (wide)."
    places = [text[start:end].strip() for start, end in answer["offsets"][1:-1]]
    # A word that begins with "(" has a piece for the space alone.
    assert [place for place in places if place] == text.replace("(wide", "( wide").replace(",", " ,").replace(
        ").", " ) ."
    ).split()


def test_batches_are_cut_and_padded_on_the_right(small_vocabulary, ask):
    tokenizer = AlbertTokenizer(small_vocabulary)
    answer = ask(tokenizer, ["a"])
    long, short = answer["batch"]["input_ids"]
    assert (len(long), long[0], long[-1]) == (6, tokenizer.cls_id, tokenizer.sep_id)
    assert short[-1] == tokenizer.pad_id
    assert answer["batch"]["attention_mask"][1] == [int(piece_id != tokenizer.pad_id) for piece_id in short]
    assert answer["batch"]["token_type_ids"] == [[0] * 6] * 2


def test_a_cased_vocabulary_keeps_case_and_accents(train_pieces, ask):
    tokenizer = AlbertTokenizer(
        train_pieces([f"Été {word} Éa aé" for word in ("Ba", "ba", "Éé") * 50], 20),
        *(False,),
        keep_accents=True,
    )
    texts = ["Été ba Ba", "ÉA éa", "E\u0301te\u0301"]
    assert ask(tokenizer, texts)["ids"] == tokenizer.encode_batch(texts)
