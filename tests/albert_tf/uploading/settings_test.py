"""Settings of a publication: what is refused before any work."""

import pytest

from albert_tf.runtime.errors import InputError
from albert_tf.uploading.settings import PublicationSettings

GOOD = {"input_dir": "run", "repo": "somebody/model"}


@pytest.mark.parametrize(
    ("changes", "fault"),
    [
        ({"repo": "model"}, "'model' is no repository"),
        ({"repo": "somebody/model@v1"}, "give the branch by --?revision"),
        ({"revision": "a b"}, "'a b' can be no revision"),
        ({"license": "My own: licence"}, "must be a word of the hub"),
        ({"dry_run": True}, "name it by --?output_dir"),
        ({"hugging_face_architecture": "BertModel"}, "must be one of AlbertForPreTraining"),
    ],
)
def test_wrong_settings_are_refused_by_name(changes, fault):
    with pytest.raises(InputError, match=fault):
        PublicationSettings(**GOOD | changes)


def test_the_name_is_repository_and_branch():
    assert str(PublicationSettings(**GOOD).name) == "hf://somebody/model"
    assert str(PublicationSettings(**GOOD, revision="v1").name) == "hf://somebody/model@v1"
    assert str(PublicationSettings(input_dir="run", repo="hf://somebody/model").name) == "hf://somebody/model"
