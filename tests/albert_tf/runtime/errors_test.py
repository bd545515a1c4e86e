"""Messages of TensorFlow cut to one line, without names of functions and nodes."""

import pytest

from albert_tf.runtime.errors import InputError, reason_of

_TRACED = """Graph execution error:

Detected at node albert/Tokenize defined at (most recent call last):
  File "predict.py", line 3, in <module>

  File "predictor.py", line 9, in _call

Resource localhost/_4 does not exist.
\t [[{{node albert/Tokenize}}]] [Op:__inference__predict_77]
"""


@pytest.mark.parametrize(
    "message, reason",
    [
        ("{{function_node __wrapped__Save_device_/CPU:0}} No space left [Op:SaveV2]", "No space left"),
        (_TRACED, "Resource localhost/_4 does not exist."),
        ("Graph execution error:\n\nDetected at node x defined at:\n<stack traces unavailable>\nwrong", "wrong"),
        ("one\ntwo", "one"),
        ("", "ValueError"),
    ],
)
def test_a_reason_is_one_line_without_names_of_functions_and_nodes(message, reason):
    assert reason_of(ValueError(message)) == reason


def test_flags_are_named_without_dashes_in_python(monkeypatch):
    error = InputError("give --output_dir or --init_checkpoint=a--b -- not both; --masking=dynamic: '--x'")
    assert str(error) == "give --output_dir or --init_checkpoint=a--b -- not both; --masking=dynamic: '--x'"
    monkeypatch.setattr(InputError, "in_command", False)
    assert str(error) == "give output_dir or init_checkpoint=a--b -- not both; masking=dynamic: '--x'"
