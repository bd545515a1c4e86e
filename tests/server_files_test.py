"""The files and commands in docs/server.md through what reads them: bash, YAML, Kubernetes's schema, JSON, flags."""

import json
import re
import shlex
import subprocess
from pathlib import Path

import kubernetes_validate
import pytest
import yaml
from absl import flags

from albert_tf import serve

TEXT = (Path(__file__).resolve().parents[1] / "docs" / "server.md").read_text()
SCHEMA = "1.31"


def blocks(language):
    """The fenced blocks of a language."""
    return re.findall(rf"```{language}\n(.*?)```", TEXT, re.DOTALL)


MANIFESTS = [yaml.safe_load(block) for block in blocks("yaml")]
OF_KUBERNETES = [manifest for manifest in MANIFESTS if "kserve" not in manifest["apiVersion"]]


@pytest.mark.parametrize("script", blocks("sh"))
def test_a_script_is_bash(script):
    done = subprocess.run(["bash", "-n"], input=script, text=True, capture_output=True, check=False)
    assert (done.returncode, done.stderr) == (0, "")


def test_the_bodies_of_requests_are_json():
    bodies = re.findall(r"-d '(.*?)'", TEXT)
    assert len(bodies) >= 4
    assert all({"instances", "inputs"} & json.loads(body).keys() for body in bodies)


def test_the_commands_have_flags_that_exist():
    lines = [line for block in blocks("sh") for line in block.splitlines() if line.startswith("serve ")]
    (entry,) = re.findall(r"^ENTRYPOINT (.*)$", TEXT, flags=re.MULTILINE)
    commands = [*(shlex.split(line, comments=True) for line in lines), json.loads(entry)]
    assert len(commands) >= 4
    for command in commands:
        values = flags.FlagValues()
        serve.define_flags(values)
        assert values(command)[1:] == []
        assert values.model


@pytest.mark.parametrize("manifest", OF_KUBERNETES, ids=lambda manifest: manifest["kind"])
def test_a_manifest_follows_the_schema(manifest):
    kubernetes_validate.validate(manifest, SCHEMA, strict=True)


def test_there_are_manifests_of_kubernetes_and_of_kserve():
    assert [manifest["kind"] for manifest in MANIFESTS] == ["Deployment", "Service", *["InferenceService"] * 2]


def test_a_pod_lives_longer_than_its_last_request():
    pod = OF_KUBERNETES[0]["spec"]["template"]["spec"]
    (timeout,) = (float(text.removeprefix("--timeout_s=")) for text in pod["containers"][0]["args"])
    assert pod["terminationGracePeriodSeconds"] > timeout + 30
