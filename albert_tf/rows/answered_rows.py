"""Rows with the model's answers: one for each input row, in order, whatever became of it.

Some thousand rows are held at a time: they are sorted by length, run in batches, and put back into their order.
"""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import Any, Protocol

from albert_tf.checkpoints.task_fields import OPTIONS
from albert_tf.rows.line_rows import ID_COLUMNS, InputRow
from albert_tf.runtime.errors import InputError
from albert_tf.runtime.worker_pool import WorkerPool
from albert_tf.serving.input_fields import ExampleFields, empty_fields

ROW, ID, INPUT, ERROR, WARNING = "row", "id", "input", "error", "warning"
# A window ends with the batch that brings it to either. It decides which rows share a batch, and with that the last
# digits of their answers: a run that is taken up begins where a window began.
WINDOW_BATCHES, WINDOW_CHARACTERS = 64, 1 << 24
# Of a number and the like, and of what stands around a value.
_LEAST_CHARACTERS = 8

# A row on its way: its result so far, and its example, None if nothing is to be asked.
Begun = tuple[dict[str, Any], Any]


class Answers(Protocol):
    """A model that answers batches."""

    def answer(self, examples: list[Any]) -> list[dict[str, Any]]:
        """Asks the model; returns what it says of each, or raises InputError if it fails on one of them."""


class Asker(Answers, Protocol):
    """A model that is asked about rows."""

    def begin(self, row: InputRow) -> Begun:
        """Checks a row; its result so far has an error if it cannot be asked about."""

    def order(self, example: Any) -> Any:
        """A key that sorts examples so that those to run together are neighbours."""


class RowAsker:
    """A fine-tuned model that is asked about rows.

    A result is a dict that JSON can hold: "row", its number; "id", where it has one; "input", its columns as they were
    given; and what Predictor.predict says of it, with a "warning" where its text is empty or a second text is not
    read. A row that cannot be answered has an "error" instead.

    Args:
        predictor: an albert_tf.serving.predictor.Predictor.
        carried: names of the columns that "input" has; None: all.
        fields: the model's fields under the names of their columns; None: as the predictor knows them.
    """

    def __init__(self, predictor: Any, carried: Sequence[str] | None = None, fields: ExampleFields | None = None):
        self._predictor, self._fields = predictor, fields or predictor.example_fields
        self._carried = None if carried is None else frozenset(carried)
        # Of the carried columns those that no row had so far, and how many rows there were.
        self._absent, self._begun = set(carried or ()), 0

    def begin(self, row: InputRow) -> Begun:
        """See Asker."""
        self._begun += 1
        self._absent.difference_update(row.values)
        named = next((row.values[column] for column in ID_COLUMNS if column in row.values), None)
        given = {name: value for name, value in row.values.items() if self._carried is None or name in self._carried}
        result = {ROW: row.number, **({} if named is None else {ID: named}), INPUT: given}
        if row.error is not None:
            return result | {ERROR: f"{row.where}: {row.error}"}, None
        try:
            checked = self._fields.check(row.values, row.where)
        except InputError as error:
            return result | {ERROR: str(error)}, None
        empty = empty_fields(checked, self._fields.names)
        warning = f"no text in {', '.join(map(repr, empty))}" if empty else self._fields.unread(row.values)
        return (result if warning is None else result | {WARNING: f"{row.where}: {warning}"}), checked

    def absent_columns(self, rows: int) -> list[str]:
        """The carried columns that none of so many rows had; [] where an earlier run began some of them."""
        return sorted(self._absent) if rows and self._begun == rows else []

    def order(self, example: Mapping[str, Any]) -> tuple[int, int]:
        """By the number of texts in a list, which decides what fits into one tensor, then by their length."""
        return len(example.get(OPTIONS, ())), _characters(example)

    def answer(self, examples: list[Any]) -> list[dict[str, Any]]:
        """See Asker."""
        found: list[dict[str, Any]] = self._predictor.answer(examples)
        return found


def begin_rows(
    asker: Asker, rows: Iterable[InputRow], batch_size: int, most_batches: int | None = None
) -> Iterator[list[tuple[InputRow, Begun]]]:
    """Yields windows of rows, checked.

    Args:
        asker: the model.
        rows: see input_rows.
        batch_size: rows that are run together.
        most_batches: that a window has; None for as many as memory may hold.
    """
    most_rows = (WINDOW_BATCHES if most_batches is None else most_batches) * batch_size
    window: list[tuple[InputRow, Begun]] = []
    characters = 0
    for row in rows:
        window.append((row, asker.begin(row)))
        characters += _characters(row.values)
        if len(window) >= most_rows or characters >= WINDOW_CHARACTERS:
            yield window
            window, characters = [], 0
    if window:
        yield window


def answer_window(
    pool: WorkerPool,
    asker: Asker,
    window: Sequence[tuple[InputRow, Begun]],
    batch_size: int,
    go_on: Callable[[], None] = lambda: None,
) -> list[dict[str, Any]]:
    """The results of one window of begin_rows, in its order.

    Args:
        pool: what answers, as the first argument of `answer_batch`.
        asker: who knows which rows to run together.
        window: the rows.
        batch_size: of them that are run together.
        go_on: called between two batches; it may raise.
    """
    results = [result for _, (result, _) in window]
    asked = [(number, row.where, example) for number, (row, (_, example)) in enumerate(window) if example is not None]
    asked.sort(key=lambda one: asker.order(one[2]))
    batches = [asked[start : start + batch_size] for start in range(0, len(asked), batch_size)]
    tasks = (([(where, example) for _, where, example in batch],) for batch in batches)
    answers = pool.map(answer_batch, tasks, lambda task: f"{len(task[0])} rows from {task[0][0][0]} on")
    for batch in batches:
        go_on()
        for (number, *_), answer in zip(batch, next(answers), strict=True):
            # A warning stands last.
            warning = {WARNING: results[number].pop(WARNING)} if WARNING in results[number] else {}
            results[number] |= answer | warning
    return results


def answer_batch(model: Answers, batch: Sequence[tuple[str, Any]]) -> list[dict[str, Any]]:
    """The answers for sound rows; where the model fails on the batch, for each row by itself, with its error.

    Args:
        model: what answers.
        batch: what each row is called in an error, and its example.
    """
    try:
        return model.answer([example for _, example in batch])
    except InputError as error:
        if len(batch) == 1:
            return [{ERROR: f"{batch[0][0]}: {error}"}]
    return [answer for one in batch for answer in answer_batch(model, [one])]


def _characters(value: Any) -> int:
    """The characters of a value, about as many as its JSON has; however deep it is."""
    count, waiting = 0, [value]
    while waiting:
        one = waiting.pop()
        if isinstance(one, str):
            count += len(one)
        elif isinstance(one, Mapping):
            waiting += one.values()
        elif isinstance(one, list | tuple):
            waiting += one
        count += _LEAST_CHARACTERS
    return count
