"""Sentence splitting: what ends a sentence, a paragraph and a document, in .txt and JSON lines, and bad input."""

import gzip
import json
import lzma
import time

import pytest

from albert_tf.runtime.errors import InputError
from data_prep.text import sentence_files
from data_prep.text.documents import read_parts, sentences_of
from data_prep.text.sentence_files import SentenceSplitting, split_files
from data_prep.text.sentences import split_paragraph
from data_prep.text.text_reading import TextReading

# A language, the number of sentences, a text.
_LANGUAGES = """
zh 5 今天很好！第3.5版。“我来了。”他说；好吗？走…
ja 4 今日は天気がいい！どこへ行きますか？「行く。」と彼は言った。
ko 3 날씨가 좋습니다! 어디로 가십니까? 3.5 버전이 나왔습니다.
ar 4 كيف حالك؟ الطقس جميل اليوم! ذهبت إلى السوق. ثم عدت.
ur 3 یہ ایک جملہ ہے۔ آپ کیسے ہیں؟ موسم اچھا ہے۔
he 3 שלום עולם. מה שלומך? הכול טוב!
hi 3 नमस्ते दुनिया। आप कैसे हैं? मौसम अच्छा है!
ru 3 В 1998 г. вышла версия 3.5! Как дела? Хорошо.
el 3 Γεια σου. Πώς είσαι; Είμαι καλά.
de 2 Das war am 3. Mai z. B. so. Ende!
am 3 ሰላም ዓለም። እንዴት ነህ፧ ጥሩ ነው።
my 2 မင်္ဂလာပါ။ နေကောင်းလား။
km 3 សួស្តី។ សុខសប្បាយទេ? ខ្ញុំសុខសប្បាយ។
bo 2 བཀྲ་ཤིས་བདེ་ལེགས། ང་བདེ་མོ་ཡིན།
km 1 ផ្លែឈើ ក្រូច ចេក ។ល។
bo 3 ང་བདེ་མོ་ཡིན། །ཁྱེད་བདེ་ལེགས། །ང་འགྲོ། །
th 2 วันนี้อากาศดีมากจริง ๆ เราจะไปเที่ยวทะเลกันที่หัวหิน คุณจะไปไหนกับใครในวันหยุดนี้ เราใช้ Python 3.11 กัน
"""


@pytest.fixture
def split(tmp_path):
    """Splits the given files ({name: text or bytes}) and returns the lines of the output."""

    def split_them(contents: dict, **options) -> list[str]:
        for name, content in contents.items():
            raw = content if isinstance(content, bytes) else content.encode("utf-8")
            (tmp_path / name).write_bytes(raw)
        names = ",".join(str(tmp_path / name) for name in contents)
        reading = TextReading(split_sentences=True, **options)
        split_files(SentenceSplitting(names, str(tmp_path / "out"), reading))
        return (tmp_path / "out").read_text(encoding="utf-8").split("\n")

    return split_them


def error_of(split, contents, **options) -> str:
    with pytest.raises(InputError) as caught:
        split(contents, **options)
    assert "\n" not in str(caught.value)
    return str(caught.value)


def test_sentences_end_at_full_stops_but_not_after_titles():
    text = "Dr. Smith paid $3.50 for it.  He \n left! Did he? “Yes,” she said."
    assert split_paragraph(text) == ["Dr. Smith paid $3.50 for it.", "He left!", "Did he?", "“Yes,” she said."]


def test_the_language_decides_what_ends_a_sentence():
    assert split_paragraph("今天很好。明天去吗？", "zh") == ["今天很好。", "明天去吗？"]


@pytest.mark.parametrize(
    ("languages", "sentences"),
    [
        (("de", "DE", "de-DE", "de-AT", "de-Latn-CH"), ["Er wohnt bzw. Arbeitet in Bonn.", "Ja."]),
        (("el", "EL", "el-GR"), ["Τι κάνεις;", "Καλά."]),
        (("es", "es-MX", "es-419"), ["Vd. Sabe.", "Sí."]),
        (("nl", "nl-BE", "nds-nl", "NDS-NL"), ["Bijv. Dit is.", "Ja."]),
        (("roa-tara", "it", "it-IT"), ["Cfr. Due.", "Sì."]),
    ],
)
def test_a_region_a_script_and_capitals_leave_a_language_its_rules(languages, sentences):
    for language in languages:
        assert split_paragraph(" ".join(sentences), language) == sentences, language


@pytest.mark.parametrize("row", _LANGUAGES.strip().splitlines())
def test_every_language_has_its_full_stops(row):
    language, sentences, text = row.split(maxsplit=2)
    found = split_paragraph(text, language)
    assert len(found) == int(sentences), found
    assert "".join(found).replace(" ", "") == text.replace(" ", "")


def test_line_ends_inside_chinese_and_japanese_are_no_spaces(split):
    assert split({"a.txt": "今天很\n 好。明\r\n天，\n去吗？\nHello\nworld\n한국\n어 中\nb"}, language="zh") == [
        *("今天很好。", "明天，去吗？", "Hello world 한국 어 中 b", "")
    ]


def test_long_sentences_are_cut_at_clauses_or_spaces_or_between_whole_characters():
    text = "one two three four; five six, seven " * 3 + "字" * 50 + " e\u0301" * 3 + "👩‍👩‍👧" * 9
    parts = split_paragraph(text, longest=24)
    assert "".join(parts).replace(" ", "") == text.replace(" ", "")
    assert parts[:2] == ["one two three four;", "five six, seven one two"]
    assert max(map(len, parts)) == 24
    assert not any(part[0] in "\u0301\u200d" or part.endswith("\u200d") for part in parts)
    started = time.monotonic()
    assert len(split_paragraph("字" * 2_000_000, longest=100)) == 20_000
    assert time.monotonic() - started < 30


def test_splitting_loses_no_character():
    text = 'He said "so (e.g. this).  And... that!?"\tU.S. troops came. 3.5 \u2026 x'
    assert "".join("".join(split_paragraph(text)).split()) == "".join(text.split())


def test_blank_lines_of_text_end_documents_and_line_breaks_do_not(split):
    text = "\n\nOne two\nthree. Four.\n \nFive.\n\n\n\nSix."
    assert split({"a.txt": text}) == ["One two three.", "Four.", "", "Five.", "", "Six.", ""]


def test_blank_lines_can_end_only_paragraphs(split):
    found = split({"a.txt": "A title\n\nOne. Two.\n", "b.txt": "Three."}, blank_line="paragraph")
    assert found == ["A title", "One.", "Two.", "", "Three.", ""]


def test_splitting_what_is_split_changes_nothing(split):
    once = split({"a.txt": "One is here. Two is here.\n\nThree is here."})
    assert split({"b.txt": "\n".join(once)}) == once


def test_json_lines_hold_paragraphs_or_text(split):
    documents = [
        {"id": 1, "paragraphs": ["# Heading", "One. Two.", "  ", "Three."]},
        {"text": "Four\nstill four.\n\nFive."},
        {"paragraphs": []},
        {"paragraphs": ["# Only a heading"]},
        {"text": "Six."},
    ]
    lines = "\n".join(map(json.dumps, documents)) + "\n\n"
    expected = ["One.", "Two.", "Three.", "", "Four still four.", "Five.", "", "Six.", ""]
    assert split({"a.jsonl": lines}) == expected


@pytest.mark.parametrize(("headings", "kept"), [("drop", False), ("keep", True)])
def test_the_text_on_the_lines_after_a_heading_is_no_heading(split, headings, kept):
    text = "\n# A title\r\n## Its part\nOne. Two\nends.\n\n#\nThree.\n\n\n# The last"
    found = split({"a.jsonl": json.dumps({"text": text})}, headings=headings)
    sentences = ["A title", "Its part", "One.", "Two ends.", "Three.", "The last"]
    assert found == [*(one for one in sentences if kept or one[-1] == "."), ""]


def test_headings_can_be_kept_as_sentences(split):
    line = json.dumps({"paragraphs": ["# A heading", "One. Two.", "#2 is no heading."]})
    found = split({"a.jsonl": line}, headings="keep")
    assert found == ["A heading", "One.", "Two.", "#2 is no heading.", ""]


def test_input_and_output_may_be_compressed(split, tmp_path):
    text = "One. Two.\n\nThree."
    plain = split({"a.txt": text})
    assert split({"a.txt.gz": gzip.compress(text.encode())}) == plain
    assert split({"a.txt.xz": lzma.compress(text.encode())}) == plain
    for name, opener in (("out.gz", gzip.open), ("out.xz", lzma.open), ("OUT.GZ", gzip.open)):
        outputs = []
        for _ in range(2):
            split_files(SentenceSplitting(str(tmp_path / "a.txt"), str(tmp_path / name)))
            outputs.append((tmp_path / name).read_bytes())
        assert outputs[0] == outputs[1]
        with opener(tmp_path / name, "rt", encoding="utf-8") as file:
            assert file.read().split("\n") == plain


def test_counts_tell_what_was_written(tmp_path):
    (tmp_path / "a.txt").write_text("One. Two.\n\nThree.", encoding="utf-8")
    counts = split_files(SentenceSplitting(str(tmp_path / "*.txt"), str(tmp_path / "out")))
    assert (counts.documents, counts.sentences) == (2, 3)
    assert counts.bytes == (tmp_path / "out").stat().st_size


def test_lone_surrogates_of_json_become_replacement_characters(split):
    assert split({"a.jsonl": '{"text": "a\\ud800b."}'}) == ["a\ufffdb.", ""]


def test_a_paragraph_too_long_for_memory_is_cut_at_a_line_end(split, monkeypatch):
    monkeypatch.setattr(sentence_files, "LONGEST_PIECE", 20)
    found = split({"a.txt": "one two three four\nfive six. Seven\neight.\n\nNine."})
    assert found == ["one two three four five six.", "Seven", "eight.", "", "Nine.", ""]


@pytest.mark.slow
def test_ten_megabytes_in_one_line_take_seconds(split):
    start = time.monotonic()
    assert len(split({"a.txt": "Hello world. " * 800_000})) == 800_001
    assert len(split({"b.txt": "x" * 10_000_000})) == 2
    assert len(split({"c.jsonl": json.dumps({"text": "(a " * 3_000_000})})) == 2
    assert time.monotonic() - start < 30


@pytest.mark.parametrize(
    ("line", "message"),
    [
        ('{"text": "cut', "line 2 is not JSON"),
        ("[" * 100_000, "line 2 is not JSON"),
        ('["text"]', "line 2 has no text"),
        ('{"title": "x"}', "line 2 has no text"),
        ('{"paragraphs": "x"}', "line 2 has no text"),
        ('{"paragraphs": ["x", 1]}', "line 2 has no text"),
    ],
)
def test_malformed_json_names_file_and_line(split, line, message):
    text = error_of(split, {"a.jsonl": '{"text": "One."}\n' + line + "\n"})
    assert message in text
    assert "a.jsonl" in text
    assert len(text) < 400


def test_bad_input_leaves_no_output(split, tmp_path):
    (tmp_path / "out").write_text("older\n")
    error_of(split, {"a.txt": "One.", "b.txt": b"caf\xe9"})
    assert (tmp_path / "out").read_text() == "older\n"
    assert not list(tmp_path.glob(".*"))


def test_no_text_at_all_is_an_error(split):
    assert "there is no text" in error_of(split, {"a.txt": "\n \n", "b.jsonl": ""})


def test_a_file_of_unknown_ending_is_text(split):
    assert split({"a.text": "One. Two."}) == ["One.", "Two.", ""]
    assert "line 1 is not UTF-8" in error_of(split, {"a.dump": b"%PDF\xff"})


def test_the_rows_of_parquet_files_are_documents(split, tmp_path):
    pyarrow = pytest.importorskip("pyarrow")
    parquet = pytest.importorskip("pyarrow.parquet")
    parquet.write_table(pyarrow.table({"body": ["One. Two.\n\n# A heading\n\nThree.", None, "Four."]}), tmp_path / "a")
    contents = (tmp_path / "a").read_bytes()
    found = split({"a.parquet": contents}, text_column="body")
    assert found == ["One.", "Two.", "Three.", "", "Four.", ""]
    assert "has no column 'text'; give one of body" in error_of(split, {"b.parquet": contents})
    parquet.write_table(pyarrow.Table.from_arrays([pyarrow.array(["One."])] * 2, ["text", "text"]), tmp_path / "a")
    twice = error_of(split, {"c.parquet": (tmp_path / "a").read_bytes()})
    assert "two columns are named 'text'; give each a name of its own" in twice


@pytest.mark.parametrize("options", [{}, {"headings": "keep"}, {"blank_line": "paragraph"}])
@pytest.mark.parametrize("name", ["a.txt", "a.jsonl"])
def test_split_text_is_what_the_records_are_made_of(split, tmp_path, name, options):
    """Raw text, as create_pretraining_data, train_vocabulary and count_embeddings read it, is the split text."""
    text = "# Title\n\nOne is here. Two is\nhere.\n\n\nThree."
    contents = text if name == "a.txt" else f"{json.dumps({'text': text})}\n{json.dumps({'paragraphs': ['Four.']})}\n"
    reading = TextReading(split_sentences=True, **options)
    split_lines = "\n".join(split({name: contents}, **options)).split("\n\n")
    documents: dict[int, list[str]] = {}
    for part in read_parts([str(tmp_path / name)], reading=reading):
        for document in part.documents:
            documents.setdefault(document.source, []).extend(sentences_of(document, reading))
    assert [lines.split() for lines in split_lines] == ["\n".join(lines).split() for lines in documents.values()]


def test_options_are_checked():
    for options in ({"language": "english text"}, {"headings": "maybe"}, {"blank_line": "none"}):
        name, value = next(iter(options.items()))
        with pytest.raises(InputError, match=f"--{name} must be .*[Rr]eceived {value!r}"):
            TextReading(**options)


@pytest.mark.parametrize(
    "options",
    [
        {"language": "de"},
        {"longest_sentence": 9},
        {"headings": "keep"},
        {"blank_line": "paragraph"},
        {"text_column": "x"},
    ],
)
def test_options_of_raw_text_are_refused_for_sentences(options):
    (name,) = options
    with pytest.raises(InputError, match=f"^--{name} is for raw text, which --split_sentences splits; give that too"):
        TextReading(**options)
    assert TextReading(split_sentences=True, **options) != TextReading(split_sentences=True)


@pytest.mark.parametrize("name", ["a.csv", "b.HTML", "c.tar", "d.tar.gz", "e.tfrecord"])
def test_a_name_that_is_not_that_of_a_text_is_refused_unless_told_so(name):
    reading = TextReading(split_sentences=True)
    with pytest.raises(InputError, match=f"{name} does not look like plain text"):
        reading.format_of(name)
    assert TextReading(input_format="text").format_of(name) == "text"
    assert reading.format_of("a.md") == reading.format_of("LICENSE") == reading.format_of("x.txt.gz") == "text"


def test_documents_of_one_sentence_bring_a_warning(split, caplog):
    split({"a.txt": "One.\n\nTwo.\n\nThree."})
    assert "--blank_line=paragraph" in caplog.text
