"""A name in the place of a path: models, tokenizers, conversions and answers are those of the folder it stands for."""

import json
import subprocess
import sys

import numpy as np
import pytest
from hub_server import packed

import albert_tf
from albert_tf.conversion.converter import convert
from albert_tf.conversion.hugging_face import save_hugging_face
from albert_tf.conversion.official import save_official
from albert_tf.conversion.pretrained import load_pretrained
from albert_tf.conversion.settings import ConversionSettings
from albert_tf.exports.export_file import gains_by_frozen_weights
from albert_tf.models.pretraining import AlbertForPretraining
from albert_tf.runtime.errors import InputError

TEXT = "bada bedi"
_PROGRAM = """
import json, sys
import numpy as np
import albert_tf

name, text = sys.argv[1:]
tokenizer = albert_tf.load_tokenizer(name)
model = albert_tf.load(name)
pooled = np.array(model.albert(tokenizer([text]))["pooled_output"]).tolist()
print(json.dumps({"pooled": pooled, "best": albert_tf.FillMask(name)(text + " [MASK]", top_k=1)[0].best}))
"""


@pytest.fixture
def model(small_config):
    return AlbertForPretraining(small_config)


def _pooled(model, tokenizer):
    return np.array(model.albert(tokenizer([TEXT]))["pooled_output"])


@pytest.fixture
def official(hub, hub_environment, monkeypatch, model, small_vocabulary, tmp_path):
    """The name of an archive of `model`, for this process."""
    save_official(model, str(tmp_path / "albert_base"), small_vocabulary)
    files = {f"albert_base/{path.name}": path.read_bytes() for path in (tmp_path / "albert_base").iterdir()}
    hub.archives["albert_base_v1.tar.gz"] = packed(files)
    for name in ("ALBERT_TF_ARCHIVES", "ALBERT_TF_CACHE", "NO_PROXY", "no_proxy"):
        monkeypatch.setenv(name, hub_environment[name])
    monkeypatch.setattr("albert_tf.published.local_copy._FOUND", {})
    return "official://albert_base_v1"


def test_an_official_archive_is_used_like_its_folder(official, model, small_vocabulary, tmp_path):
    tokenizer = albert_tf.load_tokenizer(official)
    expected = _pooled(model, albert_tf.AlbertTokenizer(small_vocabulary))
    np.testing.assert_array_equal(_pooled(albert_tf.load(official), tokenizer), expected)
    convert(ConversionSettings(input=official, output=str(tmp_path / "converted"), to_format="albert_tf"))
    np.testing.assert_array_equal(_pooled(albert_tf.load(str(tmp_path / "converted")), tokenizer), expected)
    assert load_pretrained(official).vocabulary["size"] == 60
    assert not gains_by_frozen_weights(official)


def test_a_conversion_does_not_write_to_a_name(official):
    with pytest.raises(InputError, match="is a name to read from; push_to_hub writes"):
        convert(ConversionSettings(input=official, output="hf://somebody/model", to_format="albert_tf"))


@pytest.mark.slow
def test_a_repository_of_the_hub_is_used_like_its_folder(hub, hub_environment, model, small_vocabulary, tmp_path):
    pytest.importorskip("huggingface_hub", reason="pip install 'albert_tf[hub]'")
    save_hugging_face(model, str(tmp_path / "saved"), small_vocabulary)
    hub.add("somebody/model", tmp_path / "saved")
    command = [sys.executable, "-c", _PROGRAM, "hf://somebody/model", TEXT]
    done = subprocess.run(command, env=hub_environment, capture_output=True, text=True, timeout=600, check=False)
    assert done.returncode == 0, done.stderr
    found = json.loads(done.stdout.splitlines()[-1])
    expected = _pooled(model, albert_tf.AlbertTokenizer(small_vocabulary))
    np.testing.assert_allclose(found["pooled"], expected, atol=1e-5)
    assert found["best"].startswith(TEXT)
    # The tokenizer came first, without the weights; and nothing came twice.
    asked = [request for request in hub.requests if request.startswith("GET") and "/resolve/" in request]
    assert asked[-1].endswith("/model.safetensors")
    assert len(asked) == len(set(asked)) == 5
