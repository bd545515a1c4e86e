"""AlbertConfig: every rule with its error, and the way to JSON and back."""

import dataclasses
import json

import pytest

from albert_tf.config import DEAD_KEYS, LARGEST, AlbertConfig
from albert_tf.runtime.errors import InputError

TINY = {
    "vocab_size": 100,
    "embedding_size": 8,
    "hidden_size": 16,
    "num_hidden_layers": 2,
    "num_attention_heads": 4,
    "intermediate_size": 32,
}


def write(path, content):
    path.write_text(content if isinstance(content, str) else json.dumps(content))
    return str(path)


def error_of(values):
    with pytest.raises(InputError) as caught:
        AlbertConfig.from_dict(values)
    message = str(caught.value)
    assert "\n" not in message
    return message


def test_the_defaults_are_those_of_the_official_code():
    assert dataclasses.asdict(AlbertConfig(vocab_size=30000)) == {
        "vocab_size": 30000,
        "embedding_size": 128,
        "hidden_size": 4096,
        "num_hidden_layers": 12,
        "num_hidden_groups": 1,
        "num_attention_heads": 64,
        "intermediate_size": 16384,
        "inner_group_num": 1,
        "hidden_act": "gelu",
        "hidden_dropout_prob": 0.0,
        "attention_probs_dropout_prob": 0.0,
        "max_position_embeddings": 512,
        "type_vocab_size": 2,
        "initializer_range": 0.02,
        "parameter_sharing": "all",
    }


def test_a_config_does_not_change():
    with pytest.raises(dataclasses.FrozenInstanceError):
        AlbertConfig(**TINY).hidden_size = 32


def test_json_and_back(tmp_path):
    config = AlbertConfig(**TINY, parameter_sharing="ffn", hidden_dropout_prob=0.1)
    path = str(tmp_path / "folder" / "config.json")
    config.to_json_file(path)
    assert AlbertConfig.from_json_file(path) == config


def test_full_sharing_leaves_only_official_keys_in_the_json(tmp_path):
    AlbertConfig(**TINY).to_json_file(str(tmp_path / "config.json"))
    assert "parameter_sharing" not in json.loads((tmp_path / "config.json").read_text())


def test_whole_numbers_serve_as_rates():
    rate = AlbertConfig(**TINY, hidden_dropout_prob=0).hidden_dropout_prob
    assert rate == 0.0
    assert type(rate) is float


@pytest.mark.parametrize("key", DEAD_KEYS)
def test_dead_keys_of_published_files_are_accepted_and_change_nothing(key):
    assert AlbertConfig.from_dict({**TINY, key: 3}) == AlbertConfig(**TINY)


def test_unknown_keys_are_refused_and_all_named():
    message = error_of({**TINY, "hidden_sise": 16, "answer": 42})
    assert message.startswith("config: unknown keys: answer, hidden_sise")
    assert "hidden_size" in message


def test_a_config_without_vocab_size_is_refused():
    assert "`vocab_size` is missing" in error_of({"hidden_size": 64})


@pytest.mark.parametrize(
    ("key", "value"),
    [
        ("vocab_size", "30000"),
        ("vocab_size", 30000.0),
        ("num_hidden_layers", True),
        ("hidden_size", None),
        ("hidden_act", 1),
        ("initializer_range", "0.02"),
        ("hidden_dropout_prob", False),
        ("parameter_sharing", ["all"]),
    ],
)
def test_wrong_types_are_refused(key, value):
    assert f"`{key}` must be of type" in (message := error_of({**TINY, key: value}))
    assert f"Received {key}={value!r}" in message


@pytest.mark.parametrize(
    "key",
    [
        *("vocab_size", "embedding_size", "hidden_size", "num_hidden_layers", "num_hidden_groups"),
        *("num_attention_heads", "intermediate_size", "inner_group_num", "max_position_embeddings", "type_vocab_size"),
    ],
)
@pytest.mark.parametrize("value", [0, -1])
def test_sizes_below_one_are_refused(key, value):
    assert f"`{key}` must be at least 1. Received {key}={value}" in error_of({**TINY, key: value})


@pytest.mark.parametrize("key", ["hidden_dropout_prob", "attention_probs_dropout_prob"])
@pytest.mark.parametrize("value", [-0.1, 1.0, float("nan")])
def test_rates_outside_zero_to_one_are_refused(key, value):
    assert f"`{key}` must lie in [0, 1)" in error_of({**TINY, key: value})


@pytest.mark.parametrize("value", [0.0, -0.02, float("inf"), float("nan")])
def test_an_impossible_initializer_range_is_refused(value):
    assert "`initializer_range` must be a positive number" in error_of({**TINY, "initializer_range": value})


@pytest.mark.parametrize(("key", "value"), [("hidden_act", "swish"), ("parameter_sharing", "some")])
def test_a_choice_that_does_not_exist_is_refused(key, value):
    assert f"`{key}` must be one of" in (message := error_of({**TINY, key: value}))
    assert repr(value) in message


@pytest.mark.parametrize(
    ("values", "rule"),
    [
        (
            {"num_attention_heads": 3},
            "`hidden_size` must be a multiple of `num_attention_heads`. Received hidden_size=16",
        ),
        (
            {"num_hidden_groups": 3},
            "`num_hidden_groups` must not exceed `num_hidden_layers`. Received num_hidden_groups=3",
        ),
        ({"num_hidden_groups": 2, "parameter_sharing": "none"}, "leave `num_hidden_groups` at 1"),
    ],
)
def test_combinations_that_cannot_be_built_are_refused(values, rule):
    assert rule in error_of({**TINY, **values})


@pytest.mark.parametrize(
    ("content", "message"),
    [
        ("{", "not a JSON config"),
        ("", "not a JSON config"),
        ("[1, 2]", "a config is a JSON object; this is a list"),
        ('{"vocab_size": 1, "vocab_size": 2}', "the name 'vocab_size' stands twice"),
        ({**TINY, "hidden_sizes": 1}, "unknown keys: hidden_sizes"),
        ({**TINY, "hidden_size": 18}, "must be a multiple"),
    ],
)
def test_a_malformed_file_is_one_line_that_names_it(tmp_path, content, message):
    path = write(tmp_path / "config.json", content)
    with pytest.raises(InputError) as caught:
        AlbertConfig.from_json_file(path)
    assert str(caught.value).startswith(f"{path}: ")
    assert message in str(caught.value)
    assert "\n" not in str(caught.value)


def test_a_file_that_is_missing_or_a_folder_is_named(tmp_path):
    with pytest.raises(InputError, match="no such config file"):
        AlbertConfig.from_json_file(str(tmp_path / "missing.json"))
    with pytest.raises(InputError, match="is a folder"):
        AlbertConfig.from_json_file(str(tmp_path))


def test_bytes_that_are_no_text_are_refused(tmp_path):
    (tmp_path / "config.json").write_bytes(b'{"vocab_size": "\xff"}')
    with pytest.raises(InputError, match="not a JSON config"):
        AlbertConfig.from_json_file(str(tmp_path / "config.json"))


@pytest.mark.parametrize("key", LARGEST)
def test_what_is_larger_than_any_model_is_refused_at_once(key):
    fits = {
        "num_hidden_layers": 1_000 if key in ("num_hidden_layers", "num_hidden_groups") else 1,
        "hidden_size": 10_000,
    }
    values = {**TINY, "num_attention_heads": 1, **fits, key: LARGEST[key]}
    assert getattr(AlbertConfig(**values), key) == LARGEST[key]
    for value in (LARGEST[key] + 1, 10**9, 10**4000):
        message = error_of({**TINY, key: value})
        assert message.startswith(f"config: `{key}` must be at most {LARGEST[key]:,}. Received {key}=")
        assert len(message) < 200


def test_a_depth_that_takes_hours_to_trace_is_refused():
    AlbertConfig(**{**TINY, "num_hidden_layers": 100, "inner_group_num": 10})
    message = error_of({**TINY, "num_hidden_layers": 101, "inner_group_num": 10})
    assert "`num_hidden_layers` times `inner_group_num` must be at most 1,000" in message


@pytest.mark.parametrize("value", [float("nan"), float("inf"), -float("inf"), 10**400])
@pytest.mark.parametrize("key", ["hidden_dropout_prob", "attention_probs_dropout_prob", "initializer_range"])
def test_a_rate_that_is_no_number_is_refused(key, value):
    assert f"Received {key}=" in error_of({**TINY, key: value})


@pytest.mark.parametrize("text", ["NaN", "Infinity", "1e400", "-Infinity"])
def test_json_with_a_rate_that_is_no_number_is_refused(tmp_path, text):
    path = write(tmp_path / "config.json", json.dumps(TINY)[:-1] + f', "initializer_range": {text}}}')
    with pytest.raises(InputError, match="initializer_range"):
        AlbertConfig.from_json_file(path)


def test_a_file_or_folder_of_a_shipped_name_does_not_hide_what_the_name_means(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "albert_mini").write_text('{"hidden_size": 8}')
    (tmp_path / "albert_tiny").mkdir()
    assert AlbertConfig.from_name("albert_mini").hidden_size == 256
    assert AlbertConfig.from_name("albert_tiny") == AlbertConfig.from_json_file("albert_tiny")
