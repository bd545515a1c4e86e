"""Settings of a publication: what is refused before any work."""

import pytest

from albert_tf.runtime.errors import InputError
from albert_tf.uploading.settings import PublicationSettings

GOOD = {"input_dir": "run", "repo": "somebody/model"}


FAULTS = {
    "'model' is no repository": {"repo": "model"},
    "give the branch by --?revision": {"repo": "somebody/model@v1"},
    "'a b' can be no revision": {"revision": "a b"},
    "must be a word of the hub": {"license": "My own: licence"},
    "name it by --?output_dir": {"dry_run": True},
    "must be one of AlbertForPreTraining": {"hugging_face_architecture": "BertModel"},
}


@pytest.mark.parametrize("fault", FAULTS)
def test_wrong_settings_are_refused_by_name(fault):
    with pytest.raises(InputError, match=fault):
        PublicationSettings(**GOOD | FAULTS[fault])


def test_the_name_is_repository_and_branch():
    assert str(PublicationSettings(**GOOD).name) == "hf://somebody/model"
    assert str(PublicationSettings(**GOOD, revision="v1").name) == "hf://somebody/model@v1"
    assert str(PublicationSettings(input_dir="run", repo="hf://somebody/model").name) == "hf://somebody/model"
