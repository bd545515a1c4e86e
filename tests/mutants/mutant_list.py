"""The lists of mutants: versions of the code with one deliberate fault each.

The .txt files beside this one hold them:

    file albert_tf/layers/dropout.py        what the mutants below change
    tests tests/albert_tf/layers/a_test.py  which tests must notice, likeliest first; files or file::test
    mutant every site draws one mask        the fault, in words
    - fold_in(seed, self.site)              the text that is replaced, which stands in the file once
    + fold_in(seed, 0)                      what replaces it
    lives: why no test can tell             only for those that change nothing

Several lines of one kind after one another are one text of several lines. A line of `tests` below a `mutant` is for
that mutant alone.
"""

import dataclasses
import shlex
from pathlib import Path

FOLDER = Path(__file__).resolve().parent


@dataclasses.dataclass
class Mutant:
    """One fault.

    Attributes:
        name: the fault in words.
        file: path in the checkout.
        tests: pytest's arguments.
        old, new: text of the file, and what replaces it.
        lives: why nothing can tell; "" for a mutant that tests must kill.
        where: list and line, for messages.
    """

    name: str
    file: str
    tests: list[str]
    where: str
    old: str = ""
    new: str = ""
    lives: str = ""

    def apply(self, source: str) -> str:
        """The source with the fault in it.

        Raises:
            ValueError: the text stands there not once, or the source does not change.
        """
        count = source.count(self.old) if self.old else 0
        if count != 1:
            raise ValueError(
                f"{self.where}: the old text of {self.name!r} stands {count} times in {self.file}, not once"
            )
        if self.old == self.new:
            raise ValueError(f"{self.where}: {self.name!r} changes nothing")
        return source.replace(self.old, self.new)


def parse(text: str, name: str) -> list[Mutant]:
    """The mutants of a list.

    Args:
        text: of the list.
        name: of its file, for messages.
    """
    mutants: list[Mutant] = []
    file, tests, kind_before = "", [], ""
    for number, line in enumerate(text.splitlines(), 1):
        kind, _, rest = line.partition(" ")
        last = mutants[-1] if mutants else None
        if not line.strip() or kind == "#":
            kind_before = ""
            continue
        if kind == "file":
            file, tests = rest, []
        elif kind == "tests" and kind_before in ("mutant", "+", "-"):
            last.tests = shlex.split(rest)
        elif kind == "tests":
            tests = shlex.split(rest)
        elif kind == "mutant":
            mutants.append(Mutant(rest, file, list(tests), f"{name}:{number}"))
        elif kind == "-":
            last.old += ("\n" if kind_before == "-" else "") + rest
        elif kind == "+":
            last.new += ("\n" if kind_before == "+" else "") + rest
        elif kind == "lives:":
            last.lives += (" " if last.lives else "") + rest
        else:
            raise ValueError(f"{name}:{number}: not a line of a list of mutants: {line!r}")
        kind_before = kind
    return mutants


def read_lists() -> list[Mutant]:
    """All mutants."""
    return [mutant for path in sorted(FOLDER.glob("*.txt")) for mutant in parse(path.read_text(), path.name)]
