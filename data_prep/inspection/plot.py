"""The figures of a set of records as one page of histograms."""

from typing import Any

from albert_tf.analysis.pyplot import import_pyplot
from albert_tf.runtime.files import replace_file

_COLOR, _OTHER = "tab:blue", "tab:orange"
_BARS = 64
_SIZE = (11.0, 7.5)  # inches
_RESOLUTION = 120  # dots an inch


def draw(figures: dict[str, Any], path: str) -> None:
    """Draws lengths, places of predictions, masked runs, replacements, labels and a few numbers.

    Of records without masks, lengths, labels and numbers.

    Args:
        figures: as report.inspect gives them.
        path: the PNG to write.
    """
    pyplot = import_pyplot()
    masks = (_draw_places, _draw_runs, _draw_replacements) if "mask_rate" in figures else ()
    drawings = (_draw_lengths, *masks, _draw_labels, _write_numbers)
    rows, columns, size = (2, 3, _SIZE) if masks else (1, 3, (_SIZE[0], _SIZE[1] / 2))
    figure, axes = pyplot.subplots(rows, columns, figsize=size, constrained_layout=True)
    try:
        for axis, drawing in zip(axes.ravel(), drawings, strict=True):
            drawing(axis, figures)
        figure.suptitle(
            f"{figures['examples']:,} records in {figures['files']} files, max_seq_length "
            f"{figures['max_seq_length']}, max_predictions_per_seq {figures['max_predictions_per_seq']}"
        )
        with replace_file(path) as file:
            figure.savefig(file, format="png", dpi=_RESOLUTION)
    finally:
        pyplot.close(figure)


def _draw_lengths(axis, figures: dict) -> None:
    lengths, counts = zip(*figures["lengths"]) if figures["lengths"] else ((), ())
    longest = figures["max_seq_length"]
    axis.hist(lengths, bins=min(_BARS, longest), range=(0, longest), weights=counts, color=_COLOR)
    # Most records are full; the others would not be seen beside them.
    axis.set(title="Length", xlabel="tokens", ylabel="records", yscale="log")


def _draw_places(axis, figures: dict) -> None:
    longest = figures["max_seq_length"]
    reaching = [0] * (longest + 1)
    for length, count in figures["lengths"]:
        reaching[length] = count
    for place in reversed(range(longest)):
        reaching[place] += reaching[place + 1]
    rates = [100 * at / reach if reach else 0.0 for at, reach in zip(figures["predictions_at"], reaching[1:])]
    axis.plot(range(longest), rates, color=_COLOR, linewidth=1)
    axis.axhline(100 * figures["mask_rate"], color=_OTHER, linewidth=1, label="all tokens")
    axis.set(title="Predicted, by place", xlabel="position", ylabel="% of the records that reach it", ylim=(0, None))
    axis.legend(frameon=False)


def _draw_runs(axis, figures: dict) -> None:
    shares = [100 * share for share in figures["window_words_shares"][:10]]
    _bars(axis, [str(words) for words in range(1, len(shares) + 1)], shares)
    axis.set(title="Masked runs", xlabel="neighbouring words", ylabel="% of the runs")


def _draw_replacements(axis, figures: dict) -> None:
    names = ("shown_as_mask_share", "shown_unchanged_share", "shown_as_random_piece_share")
    _bars(axis, ["[MASK]", "unchanged", "random piece"], [100 * figures[name] for name in names])
    axis.set(title="What stands at a prediction", ylabel="% of the predictions")


def _draw_labels(axis, figures: dict) -> None:
    total = max(1, sum(figures["labels"]))
    labels = range(len(figures["labels"]))
    _bars(axis, [f"label {label}" for label in labels], [100 * figures["labels"][label] / total for label in labels])
    task = figures["sentence_task"]
    axis.set(title=f"Label ({task})" if task else "Label", ylabel="% of the records")


def _bars(axis, names: list[str], shares: list[float]) -> None:
    axis.bar(range(len(names)), shares, color=_COLOR)
    axis.set_xticks(range(len(names)), names)
    for place, share in enumerate(shares):
        axis.annotate(f"{share:.1f}", (place, share), ha="center", va="bottom")
    axis.set_ylim(0, 1.15 * max(shares, default=1.0) or 1.0)


def _predicted(figures: dict) -> list[tuple[str, str]]:
    return [
        ("predictions a record", f"{figures['predictions_per_example']:.1f}"),
        ("predictions of all tokens", f"{100 * figures['mask_rate']:.2f} %"),
        ("without predictions", f"{figures['examples_without_predictions']:,}"),
    ]


def _write_numbers(axis, figures: dict) -> None:
    axis.axis("off")
    lines = [
        ("tokens", f"{figures['tokens']:,}"),
        ("mean length", f"{figures['mean_length']:.1f}"),
        ("padding", f"{100 * figures['padding_share']:.1f} %"),
        *(_predicted(figures) if "mask_rate" in figures else ()),
        ("unknown pieces", f"{100 * figures['unknown_share']:.3f} %"),
        ("pieces never seen", f"{figures['pieces_never_seen']:,} of {figures['vocab_size']:,}"),
        ("records seen before", f"{figures['repeated_records']:,}"),
        ("texts seen before", f"{figures['repeated_texts']:,}"),
    ]
    for row, (name, value) in enumerate(lines):
        height = 0.97 - row * 0.1
        axis.text(0.0, height, name, va="top", transform=axis.transAxes)
        axis.text(1.0, height, value, va="top", ha="right", transform=axis.transAxes)
