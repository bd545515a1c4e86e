"""The files in docs/operations.md through what reads them: bash, and the schema of Kubernetes."""

import re
import subprocess
from pathlib import Path

import kubernetes_validate
import pytest
import yaml

TEXT = (Path(__file__).resolve().parents[1] / "docs" / "operations.md").read_text()
SCHEMA = "1.31"


def blocks(language):
    """The fenced blocks of a language."""
    return re.findall(rf"```{language}\n(.*?)```", TEXT, re.DOTALL)


def jobs():
    """The Jobs of the page: those that stand alone, and those that a JobSet makes."""
    found = []
    for manifest in map(yaml.safe_load, blocks("yaml")):
        if manifest["kind"] == "JobSet":
            found += [job["template"] for job in manifest["spec"]["replicatedJobs"]]
        else:
            found.append(manifest)
    return found


@pytest.mark.parametrize("script", blocks("bash"))
def test_a_script_is_bash(script):
    done = subprocess.run(["bash", "-n"], input=script, text=True, capture_output=True, check=False)
    assert (done.returncode, done.stderr) == (0, "")


def test_the_page_has_two_jobs():
    assert len(jobs()) == 2


@pytest.mark.parametrize("job", jobs(), ids=["Job", "JobSet"])
def test_a_job_follows_the_schema(job):
    named = {"metadata": {"name": "albert"}} | job | {"apiVersion": "batch/v1", "kind": "Job"}
    kubernetes_validate.validate(named, SCHEMA, strict=True)


def test_the_schema_refuses_a_misspelt_field():
    (job, _) = jobs()
    wrong = job | {"spec": job["spec"] | {"completionsMode": "Indexed"}}
    with pytest.raises(kubernetes_validate.ValidationError):
        kubernetes_validate.validate(wrong, SCHEMA, strict=True)
