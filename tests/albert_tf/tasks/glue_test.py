"""The GLUE tasks: official files of all ten, written here in their formats; bad files; scores; submissions."""

from pathlib import Path

import numpy as np
import pytest

from albert_tf.runtime.errors import InputError
from albert_tf.tasks.glue import TABLES, GlueTask, submission_files
from albert_tf.tasks.task import TaskSettings
from albert_tf.tasks.text_classification import TextPrediction

MNLI_HEADER = (
    "index\tpromptID\tpairID\tgenre\tsentence1_binary_parse\tsentence2_binary_parse\tsentence1_parse\t"
    "sentence2_parse\tsentence1\tsentence2"
)
STS_HEADER = "index\tgenre\tfilename\tyear\told_index\tsource1\tsource2\tsentence1\tsentence2"

# task: (split, contents, the first example's texts and label)
FILES = {
    "cola": ("train", "gj04\t1\t\tThey sang.\ngj04\t0\t*\tThem sang.\n", ("They sang.", None, 1)),
    "sst-2": ("dev", "sentence\tlabel\nit 's \" good \t1\n", ("it 's \" good ", None, 1)),
    "mrpc": ("train", "\ufeffQuality\t#1 ID\t#2 ID\t#1 String\t#2 String\n0\t7\t8\tA b\tC d\n", ("A b", "C d", 0)),
    "sts-b": ("dev", f"{STS_HEADER}\tscore\n0\tg\tf\ty\to\ts\ts\tA b\tC d\t3.800\n", ("A b", "C d", 3.8)),
    "qqp": ("dev", "id\tqid1\tqid2\tquestion1\tquestion2\tis_duplicate\n5\t1\t2\tA?\tB?\t1\n", ("A?", "B?", 1)),
    "mnli": (
        "dev_mismatched",
        f"{MNLI_HEADER}\tlabel1\tgold_label\n0\t1\t2\tg\tp\tp\tp\tp\tA b\tC d\tneutral\tentailment\n",
        ("A b", "C d", 1),
    ),
    "qnli": ("dev", "index\tquestion\tsentence\tlabel\n0\tA?\tB.\tnot_entailment\n", ("A?", "B.", 1)),
    "rte": ("train", "index\tsentence1\tsentence2\tlabel\n0\tA\tB\tentailment\n", ("A", "B", 0)),
    "wnli": ("train", "index\tsentence1\tsentence2\tlabel\n0\tA\tB\t1\n", ("A", "B", 1)),
    "ax": ("test", "index\tsentence1\tsentence2\n0\tA\tB\n", ("A", "B", None)),
}
TEST_FILES = {
    "cola": ("test", "index\tsentence\n0\tThey sang.\n"),
    "sst-2": ("test", "index\tsentence\n0\tfine\n"),
    "mrpc": ("test", "index\t#1 ID\t#2 ID\t#1 String\t#2 String\n0\t7\t8\tA b\tC d\n"),
    "sts-b": ("test", f"{STS_HEADER}\n0\tg\tf\ty\to\ts\ts\tA b\tC d\n"),
    "qqp": ("test", "id\tquestion1\tquestion2\n0\tA?\tB?\n"),
    "mnli": ("test_matched", f"{MNLI_HEADER}\n0\t1\t2\tg\tp\tp\tp\tp\tA b\tC d\n"),
    "qnli": ("test", "index\tquestion\tsentence\n0\tA?\tB.\n"),
    "rte": ("test", "index\tsentence1\tsentence2\n0\tA\tB\n"),
    "wnli": ("test", "index\tsentence1\tsentence2\n0\tA\tB\n"),
    "ax": FILES["ax"][:2],
}


@pytest.fixture
def make(write, tmp_path):
    """A function of (task, split, contents) that writes the split's file and returns the task."""

    def make_task(name, split, contents):
        write(f"glue/{TABLES[name].files[split]}", contents)
        return GlueTask(name, str(tmp_path / "glue"))

    return make_task


def predicted(task, examples, values):
    """Predictions that say these values, from logits as a model gives them."""
    if task.head == "regression":
        logits = [np.array([value], np.float32) for value in values]
    else:
        logits = [np.where(np.arange(len(task.labels)) == value, 4.0, 0.0) for value in values]
    return task.predictions(examples, [None] * len(examples), {"logits": logits}, TaskSettings())


def test_every_task_has_files_here():
    assert set(FILES) == set(TEST_FILES) == set(TABLES)


@pytest.mark.parametrize("name", FILES)
def test_official_columns_are_read(make, name):
    split, contents, (first, second, label) = FILES[name]
    task = make(name, split, contents)
    assert task.splits() == (split,)
    example = task.examples(split)[0]
    assert (example.first, example.second, example.label) == (first, second, label)


@pytest.mark.parametrize("name", TEST_FILES)
def test_a_test_file_needs_no_labels(make, name):
    split, contents = TEST_FILES[name]
    task = make(name, split, contents)
    [example] = task.examples(split)
    assert example.label is None
    assert example.guid == "0"
    with pytest.raises(InputError, match="have no labels"):
        task.scores([example], predicted(task, [example], [0]))


@pytest.mark.parametrize("name", TEST_FILES)
def test_a_submission_has_the_official_name_and_header(make, tmp_path, name):
    split, contents = TEST_FILES[name]
    task = make(name, split, contents)
    examples = task.examples(split)
    value = 2.5 if name == "sts-b" else 1
    paths = task.write_predictions(str(tmp_path / "out"), split, examples, predicted(task, examples, [value]))
    wanted = {"mnli": "MNLI-m.tsv", "sst-2": "SST-2.tsv", "cola": "CoLA.tsv"}.get(name, f"{name.upper()}.tsv")
    assert [Path(path).name for path in paths] == [f"{split}_predictions.jsonl", wanted]
    text = {"sts-b": "2.500", "rte": "not_entailment", "qnli": "not_entailment", "mnli": "entailment"}
    assert (
        Path(paths[1]).read_text() == f"index\tprediction\n0\t{text.get(name, 'entailment' if name == 'ax' else '1')}\n"
    )


def test_the_official_label_orders():
    labels = {name: table.labels for name, table in TABLES.items()}
    assert labels["mnli"] == labels["ax"] == ("contradiction", "entailment", "neutral")
    assert labels["qnli"] == labels["rte"] == ("entailment", "not_entailment")
    assert labels["cola"] == labels["sst-2"] == labels["mrpc"] == labels["qqp"] == labels["wnli"] == ("0", "1")
    assert labels["sts-b"] == ()


@pytest.mark.parametrize("folder", ["", "RTE"])
def test_data_dir_is_the_tasks_folder_or_the_one_above(write, tmp_path, folder):
    write(f"glue/{folder}/train.tsv", FILES["rte"][1])
    assert len(GlueTask("rte", str(tmp_path / "glue")).examples("train")) == 1


def test_files_saved_by_other_systems_are_read(make):
    contents = FILES["rte"][1].replace("\n", "\r\n")
    assert make("rte", "train", "\ufeff" + contents).examples("train") == make(*("rte", "train", contents)).examples(
        "train"
    )


@pytest.mark.parametrize(
    ("name", "split", "contents", "message"),
    [
        ("rte", "train", "index\tsentence1\tlabel\n0\tA\tentailment\n", "line 1: the header lacks 'sentence2'; it has"),
        ("rte", "dev", "index\tsentence1\tsentence2\n0\tA\tB\n", "line 1: the header lacks 'label'"),
        ("rte", "train", "index\tsentence1\tsentence2\tlabel\n0\tA\tB\n", "line 2: the row has no value of 'label'"),
        ("rte", "train", "index\tsentence1\tsentence2\tlabel\n0\tA\tB\tC\tentailment\n", "line 2: 1 more fields"),
        ("rte", "train", "index\tsentence1\tsentence2\tlabel\n0\tA\tB\tmaybe\n", "line 2: unknown label 'maybe'; the"),
        ("rte", "train", "", "train.tsv is empty"),
        ("rte", "train", "index\tsentence1\tsentence2\tlabel\n", "train.tsv holds no examples"),
        ("cola", "train", "sentence\tlabel\n", "line 1: the row has no column 4"),
        ("cola", "train", "a\tb\tc\td\n", "line 1: unknown label 'b'; the labels are 0, 1"),
        ("cola", "train", "", "train.tsv holds no examples"),
        (
            "sts-b",
            "dev",
            f"{STS_HEADER}\tscore\n0\tg\tf\ty\to\ts\ts\tA b\tC d\thigh\n",
            "line 2: the score must be a n",
        ),
        ("sts-b", "dev", f"{STS_HEADER}\tscore\n0\tg\tf\ty\to\ts\ts\tA b\tC d\tnan\n", "line 2: the score must be a n"),
    ],
)
def test_a_bad_file_is_one_line_with_file_and_line(make, name, split, contents, message):
    task = make(name, split, contents)
    with pytest.raises(InputError, match=message) as caught:
        task.examples(split)
    assert TABLES[name].files[split] in str(caught.value)
    assert "\n" not in str(caught.value)


def test_malformed_rows_of_qqp_are_left_out_and_counted(make, caplog):
    contents = FILES["qqp"][1] + "6\t1\t2\tA?\n7\t1\t2\tC?\tD?\t0\n8\t1\t2\tA?\tB\t?\t1\n"
    examples = make("qqp", "dev", contents).examples("dev")
    assert [(example.guid, example.label) for example in examples] == [("5", 1), ("7", 0)]
    assert "2 rows with too few or too many fields are left out (lines 3, 5)" in caplog.text


def test_no_row_of_a_test_file_is_left_out_of_a_submission(make):
    task = make("qqp", "test", "id\tquestion1\tquestion2\n0\tA\tB\n1\tA\n")
    with pytest.raises(InputError, match=r"test.tsv, line 3: the row has no value of 'question2'"):
        task.examples("test")


def test_no_folder_no_file_and_no_such_split_are_named(tmp_path):
    with pytest.raises(InputError, match="--data_dir=.*none does not exist"):
        GlueTask("rte", str(tmp_path / "none")).examples("train")
    with pytest.raises(InputError, match="has neither dev.tsv nor RTE/dev.tsv, the dev file of rte"):
        GlueTask("rte", str(tmp_path)).examples("dev")
    with pytest.raises(InputError, match="mnli has no split 'dev'; it has train, dev_matched"):
        GlueTask("mnli", str(tmp_path)).examples("dev")


def test_scores_are_the_official_ones(make):
    task = make("mrpc", "train", FILES["mrpc"][1] + "1\t7\t8\tA\tB\n1\t7\t8\tA\tB\n1\t7\t8\tA\tB\n")
    examples = task.examples("train")
    # Of 0 1 1 1 predicted as 1 1 1 0: two right; precision 2/3, recall 2/3.
    assert task.scores(examples, predicted(task, examples, [1, 1, 1, 0])) == pytest.approx(
        {"accuracy": 0.5, "f1": 2 / 3}
    )


def test_a_pair_becomes_one_feature(make, tokenizer):
    [example] = make(
        "rte", "train", "index\tsentence1\tsentence2\tlabel\n0\tthe river\tthe city of paris\tentailment\n"
    ).examples("train")
    task = GlueTask("rte", "anywhere")
    [feature] = task.features(4, example, tokenizer, TaskSettings(max_seq_length=64))
    first, second = tokenizer.encode("the river"), tokenizer.encode("the city of paris")
    assert feature.input_ids == [tokenizer.cls_id, *first, tokenizer.sep_id, *second, tokenizer.sep_id]
    assert feature.segment_ids == [0] * (len(first) + 2) + [1] * (len(second) + 1)
    assert (feature.example, feature.label) == (4, 0)
    [cut] = task.features(4, example, tokenizer, TaskSettings(max_seq_length=7))
    assert cut.input_ids == [tokenizer.cls_id, *first[:2], tokenizer.sep_id, *second[:2], tokenizer.sep_id]


def test_a_text_that_was_typed_becomes_an_example(tmp_path):
    task = GlueTask("rte", str(tmp_path))
    example = task.make_example({"text": "A", "text_pair": "B"}, "line 1")
    assert (example.first, example.second, example.label) == ("A", "B", None)
    with pytest.raises(InputError, match="line 1: the field 'text_pair' must be text"):
        task.make_example({"text": "A"}, "line 1")
    with pytest.raises(InputError, match="line 1: unknown field 'question'"):
        task.make_example({"text": "A", "text_pair": "B", "question": "C"}, "line 1")


def test_a_report_shows_which_classes_are_mistaken(make):
    task = make("rte", "train", FILES["rte"][1] + "1\tX\tY\tnot_entailment\n2\tX\tZ\tnot_entailment\n")
    examples = task.examples("train")
    report = task.report(examples, predicted(task, examples, [1, 1, 0]))
    assert report.values["confusion_matrix"] == [[0, 1], [1, 1]]
    assert report.values["errors"][0]["text"] == "A / B"
    assert "2 of 3 wrong" in report.text
    assert "not_entailment taken for entailment (0.98): X / Z" in report.text


def test_a_report_of_scores_shows_the_largest_differences(make):
    task = make("sts-b", "dev", FILES["sts-b"][1])
    examples = task.examples("dev")
    report = task.report(examples, predicted(task, examples, [1.0]))
    assert report.values["mean_absolute_difference"] == pytest.approx(2.8)
    assert "1.00 instead of 3.80: A b / C d" in report.text


def test_a_full_submission_has_eleven_files():
    assert len(submission_files()) == 11


@pytest.mark.parametrize(
    ("name", "folder", "counts"),
    [
        ("cola", "CoLA", {"train": 8551, "dev": 1043}),
        ("sst-2", "SST-2", {"train": 67349, "dev": 872}),
        ("sts-b", "STS-B", {"train": 5749, "dev": 1500}),
        ("mrpc", "MRPC", {"train": 3667, "dev": 408, "test": 1725}),
    ],
)
def test_every_row_of_the_real_files_is_an_example(shared, tmp_path, name, folder, counts):
    import tarfile

    with tarfile.open(shared / "data" / "glue" / "glue_share.tar.xz") as archive:
        for member in archive.getmembers():
            if Path(member.name).parent.name == folder and member.name.endswith(".tsv"):
                target = tmp_path / folder / Path(member.name).name
                target.parent.mkdir(exist_ok=True)
                target.write_bytes(archive.extractfile(member).read())
    task = GlueTask(name, str(tmp_path))
    assert {split: len(task.examples(split)) for split in task.splits()} == counts


def test_the_diagnostic_set_is_scored_where_it_has_labels(tmp_path):
    for label, is_scored in (("", False), ("neutral", True)):
        column = "\tlabel" if label else ""
        (tmp_path / "diagnostic.tsv").write_text(f"index\tsentence1\tsentence2{column}\n0\tA\tB\t{label}".rstrip())
        task = GlueTask("ax", tmp_path)
        assert task.scores_test(task.examples("test")) == is_scored
    assert task.scores(task.examples("test"), [TextPrediction(2)])["accuracy"] == 1.0
    assert not GlueTask("mnli", tmp_path).scores_test(task.examples("test"))
