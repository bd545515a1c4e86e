"""The flags of a run beside their defaults; lines that are no flags; differences."""

from albert_tf.reports.run_settings import differences, read_settings, show_value


def _read(tmp_path, text, command="run_pretraining"):
    path = tmp_path / "flags"
    path.write_bytes(text.encode("latin-1"))
    return read_settings(str(path), command)


def test_what_is_changed_is_told_from_the_defaults(tmp_path):
    text = "--learning_rate=0.5\n--nodo_train\n--train_batch_size=4096\n--optimizer=lamb\n"
    settings = _read(tmp_path, text)
    by_name = {one.name: one for one in settings.settings}
    # The official defaults: a batch of 4096, LAMB.
    changed = {name for name, one in by_name.items() if one.is_changed()}
    assert changed == {"learning_rate", "do_train"}
    assert by_name["learning_rate"].group == "Batches and optimisation"
    assert (by_name["learning_rate"].value, by_name["learning_rate"].default) == (0.5, 0.00176)
    assert settings.text("do_train") == "no"
    assert (by_name["optimizer"].is_given, by_name["num_train_steps"].is_given) == (True, False)
    assert settings.value("no_such_flag") is None


def test_flags_of_vectors_are_known_to_this_version(tmp_path):
    settings = _read(tmp_path, "--objective=cosine\n--do_eval\n--nodo_lower_case\n", "train_embeddings")
    assert (settings.value("objective"), settings.value("do_lower_case")) == ("cosine", False)
    assert all(one.is_known for one in settings.settings)
    settings = _read(tmp_path, "--teacher=large\n--muon_rate=3.5\n--objective=cosine\n", "distil_vectors")
    assert [(one.name, one.value) for one in settings.settings if not one.is_known] == [("objective", "cosine")]
    assert (settings.value("teacher"), settings.value("muon_rate")) == ("large", 3.5)


def test_lines_that_are_no_flags_stay_as_they_are(tmp_path):
    settings = _read(
        tmp_path, "--optimiser=adam\nwords\n--train_batch_size=many\n\n--do_eval\n\xff\n", "run_finetuning"
    )
    odd = [(one.name, one.value) for one in settings.settings if not one.is_known]
    assert odd == [
        ("optimiser", "adam"),
        ("words", ""),
        ("train_batch_size", "many"),
        ("\N{REPLACEMENT CHARACTER}", ""),
    ]
    assert settings.value("do_eval") is True


def test_differences_are_those_of_values(tmp_path):
    first = _read(tmp_path, "--learning_rate=0.5\n--labels=a,b\n", "run_finetuning")
    second = _read(tmp_path, "--learning_rate=0.5\n--num_seeds=5\n", "run_finetuning")
    assert differences([first, second]) == [("labels", ["a, b", "–"]), ("num_seeds", ["1", "5"])]
    assert ("num_seeds", ["1", "5", "–"]) in differences([first, second, None])


def test_values_are_written_for_a_person():
    values = (None, "", [], True, False, 12, 30_000, 0.00176, ["a", "b"], "text")
    assert [*map(show_value, values)] == ["–", "–", "–", "yes", "no", "12", "30000", "0.00176", "a, b", "text"]
