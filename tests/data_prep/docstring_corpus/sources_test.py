"""The texts of single files: strings and comments of Python, comments of C++ headers."""

from data_prep.docstring_corpus.sources import comments_of_header, find_sources, read_documents, texts_of_python

_PYTHON = b'''"""One
a."""
# Two,
#: of two lines.
x = 1  # not this

# alone
text = """
# not a comment,
# but a string
"""
# Copyright of it.
# All rights.
'''


def test_comments_of_headers_without_licences():
    source = (
        "// Copyright of it.\n// All of it.\n\nint x;  // not this\n/// One.\n/// Two.\n// Three.\nint y;\n// alone\n"
    )
    assert comments_of_header(source) == [(5, " One.\n Two.\n Three.")]


def test_comments_between_stars():
    source = "/* alone */\nint x;\n/**\n * One.\n *  Two.\n */\n/* Licensed to you\n by us. */\n"
    assert comments_of_header(source) == [(3, "\nOne.\nTwo.\n")]


def test_files_of_one_name_in_two_folders_are_two(tmp_path):
    for folder in ("a/docs", "b/docs", "c/docs"):
        (tmp_path / folder).mkdir(parents=True)
        (tmp_path / folder / "README.md").write_text(folder)
    (tmp_path / "link").symlink_to(tmp_path / "a" / "docs")
    folders = tuple(str(tmp_path / name) for name in ("a/docs", "b/docs", "c/docs", "link"))
    assert dict(find_sources(folders)) == {
        "README.md": f"{tmp_path}/a/docs/README.md",
        "docs/README.md": f"{tmp_path}/b/docs/README.md",
        f"{tmp_path}/c/docs/README.md": f"{tmp_path}/c/docs/README.md",
    }


def test_strings_and_comments_come_in_the_order_of_the_file():
    assert texts_of_python(_PYTHON) == [
        (1, "One\na."),
        (3, "Two,\nof two lines."),
        (8, "\n# not a comment,\n# but a string\n"),
    ]


def test_a_source_that_is_no_python_has_no_texts():
    assert texts_of_python(b'"""\x00\n"""') == []
    assert texts_of_python(b"def (:\n# one\n# two\n") == []


def test_a_file_that_cannot_be_read_has_no_documents(tmp_path):
    assert read_documents(("gone.py", str(tmp_path / "gone.py"))) == []


def test_neither_a_line_of_a_comment_nor_a_string_opens_a_comment_between_stars():
    source = '// See src/*.h for\n// more.\nchar* x = "\\"/*"; char y = \'"\';\n/* One.\n   Two. */\n'
    assert comments_of_header(source) == [(1, " See src/*.h for\n more."), (4, "One.\nTwo.")]


def test_a_comment_between_stars_that_does_not_end_is_none():
    assert comments_of_header("/* One.\n Two.\n") == []


def test_a_form_feed_ends_no_line_of_python():
    source = b'x = 1\n\x0c\n\x0c\ny = """\n# not a comment,\n# but a string\n"""\n# One.\n# Two.\n'
    assert texts_of_python(source) == [(4, "\n# not a comment,\n# but a string\n"), (8, "One.\nTwo.")]


def test_comments_are_read_in_the_encoding_that_the_file_declares():
    source = "# coding: latin-1\nx = 1\n# Größe,\n# that is size.\n"
    assert texts_of_python(source.encode("latin-1")) == [(3, "Größe,\nthat is size.")]
