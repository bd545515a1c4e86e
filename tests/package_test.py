"""The wheel, installed into a folder of its own, works from any folder: commands, shipped configs and flag files."""

import importlib
import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from albert_tf.config import AlbertConfig
from albert_tf.runtime import shipped_files
from albert_tf.runtime.errors import InputError

ROOT = Path(__file__).resolve().parents[1]


@pytest.fixture(scope="module")
def installed(tmp_path_factory):
    """A folder with what the wheel holds, and nothing of the checkout."""
    pytest.importorskip("build")
    folder = tmp_path_factory.mktemp("package")
    source = folder / "source"
    listing = subprocess.run(
        ["git", "ls-files", "--cached", "--others", "--exclude-standard"], capture_output=True, text=True, cwd=ROOT
    )
    if listing.returncode:
        pytest.skip("not a git checkout")
    for path in listing.stdout.splitlines():
        if (ROOT / path).is_file() and not path.startswith("tests/"):
            (source / path).parent.mkdir(parents=True, exist_ok=True)
            shutil.copy(ROOT / path, source / path)
    run(sys.executable, "-m", "build", "--no-isolation", "--outdir", folder / "dist", source)
    (wheel,) = (folder / "dist").glob("*.whl")
    assert len(list((folder / "dist").glob("*.tar.gz"))) == 1
    run(sys.executable, "-m", "pip", "install", "--quiet", "--no-deps", "--target", folder / "site", wheel)
    return folder / "site"


def run(*command, **settings):
    done = subprocess.run([*map(str, command)], capture_output=True, text=True, **settings)
    assert done.returncode == 0, done.stderr
    return done.stdout


def run_installed(installed, folder, *command):
    environment = {**os.environ, "PYTHONPATH": str(installed), "PYTHONWARNINGS": "ignore"}
    return subprocess.run([sys.executable, *command], capture_output=True, text=True, cwd=folder, env=environment)


def test_the_wheel_finds_its_configs_from_any_folder(installed, tmp_path):
    program = (
        "import albert_tf; print(albert_tf.__file__, albert_tf.AlbertConfig.from_name('albert_base_v2').hidden_size)"
    )
    where, size = run_installed(installed, tmp_path, "-c", program).stdout.split()
    assert where == str(installed / "albert_tf/__init__.py")
    assert size == "768"


def test_the_wheel_has_every_shipped_file_and_its_types(installed):
    kinds = shipped_files.MODELS, shipped_files.PRETRAINING, shipped_files.FINETUNING, shipped_files.EXPERIMENTS
    for kind in kinds:
        wanted = sorted(path.name for path in (ROOT / "configs" / kind).iterdir())
        assert sorted(path.name for path in (installed / "albert_tf/configs" / kind).iterdir()) == wanted
    assert (installed / "albert_tf/py.typed").is_file()
    assert (installed / "albert_tf/server/page/index.html").is_file()
    assert not (installed / "tests").exists()


@pytest.mark.parametrize(
    "name", ["mini_wikipedia", pytest.param("configs/pretraining/mini_wikipedia.flags", marks=pytest.mark.slow)]
)
def test_a_shipped_flag_file_is_found_by_name_and_by_path(installed, tmp_path, name):
    arguments = [f"--flagfile={name}", "--input_file=none", "--output_dir=out"]
    done = run_installed(installed, tmp_path, "-m", "albert_tf.run_pretraining", *arguments)
    # The flags and the config were found: what is missing are the records.
    assert done.returncode == 1
    assert "--input_file: no file matches 'none'" in done.stderr


def test_a_flag_file_of_an_unknown_name_says_which_are_known(installed, tmp_path):
    done = run_installed(installed, tmp_path, "-m", "albert_tf.run_pretraining", "--flagfile=base_125kk")
    assert done.returncode == 2
    assert "--flagfile=base_125kk: no such file; shipped ones are base_125k, " in done.stderr
    assert len(done.stderr.splitlines()) == 1


@pytest.mark.slow
def test_every_command_starts_from_any_folder(installed, tmp_path):
    commands = [
        f"{package}.{path.stem}"
        for package in ("albert_tf", "data_prep")
        for path in sorted((installed / package).glob("*.py"))
        if hasattr(importlib.import_module(f"{package}.{path.stem}"), "main")
    ]
    assert len(commands) > 15
    for command in commands:
        done = run_installed(installed, tmp_path, "-m", command, "--help")
        assert (done.returncode, done.stderr) == (0, ""), command


def test_a_file_of_the_same_name_goes_before_the_shipped_one(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    assert AlbertConfig.from_json_file("albert_tiny").hidden_size == 128
    (tmp_path / "albert_tiny").write_text('{"vocab_size": 5, "hidden_size": 64, "num_attention_heads": 1}')
    assert AlbertConfig.from_json_file("albert_tiny").hidden_size == 64


def test_what_is_not_shipped_says_what_is(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    with pytest.raises(InputError, match="albert_base_v3: no such config file; shipped ones are albert_base_v1, "):
        AlbertConfig.from_json_file("albert_base_v3")
    with pytest.raises(InputError, match=r"`name` must be one of .*albert_tiny.*Received '../x'"):
        AlbertConfig.from_name("../x")
    for path in ("other/albert_tiny.json", "../configs/models/albert_tiny.json", "gs://bucket/albert_tiny"):
        assert shipped_files.find(path, shipped_files.MODELS) == path
