"""Tables in Markdown."""

from collections.abc import Sequence


def markdown_table(lines: Sequence[Sequence[str]]) -> str:
    r"""Lines of cells as a table; a bar within a cell does not end it.

    >>> markdown_table([["a|b", "c"], ["---", "---"]])
    '| a\\|b | c |\n| --- | --- |\n'
    """
    return "".join(f"| {' | '.join(cell.replace('|', chr(92) + '|') for cell in line)} |\n" for line in lines)
