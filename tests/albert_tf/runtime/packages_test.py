"""Packages of extras: there, missing, or broken."""

import logging

import pytest

from albert_tf.runtime.errors import InputError
from albert_tf.runtime.packages import import_extra, is_installed


def test_a_package_is_there_if_it_can_be_imported(tmp_path, monkeypatch):
    (tmp_path / "broken_package.py").write_text("import a_library_that_is_missing")
    (tmp_path / "whole_package.py").write_text("")
    monkeypatch.syspath_prepend(tmp_path)
    assert is_installed("whole_package")
    assert not is_installed("broken_package")
    assert not is_installed("no_such_package")


def test_what_is_missing_is_named_with_its_pip_line():
    with pytest.raises(InputError, match=r"--format=onnx needs no_such_package: pip install 'albert_tf\[onnx\]'"):
        import_extra("no_such_package", "onnx")


def test_a_package_that_takes_the_handlers_of_logs_away_takes_none(tmp_path, monkeypatch):
    (tmp_path / "greedy_package.py").write_text("import logging\nlogging.root.handlers.clear()")
    monkeypatch.syspath_prepend(tmp_path)
    handler = logging.NullHandler()
    monkeypatch.setattr(logging.root, "handlers", [handler])
    assert is_installed("greedy_package")
    assert logging.root.handlers == [handler]
