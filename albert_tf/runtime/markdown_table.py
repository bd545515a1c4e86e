"""Tables in Markdown."""

from collections.abc import Sequence


def markdown_table(lines: Sequence[Sequence[str]]) -> str:
    r"""Lines of cells as a table; neither a bar nor a line's end within a cell ends it.

    >>> markdown_table([["a|b", "c"], ["---", "---"]])
    '| a\\|b | c |\n| --- | --- |\n'
    """
    return "".join(f"| {' | '.join(map(_cell, line))} |\n" for line in lines)


def _cell(text: str) -> str:
    return " ".join(text.splitlines()).replace("|", "\\|")
