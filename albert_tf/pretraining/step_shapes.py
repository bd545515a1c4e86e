"""The sizes of a run's steps, stage by stage: examples, rows, tokens and predictions, packed or not."""

import dataclasses

import numpy as np

from albert_tf.inputs.pretraining_dataset import RecordSet
from albert_tf.inputs.reading import AS_MADE
from albert_tf.inputs.row_packing import Packing, plan_packing, sample_lengths
from albert_tf.pretraining.settings import PretrainingSettings
from albert_tf.pretraining.stages import Stage, Stages
from albert_tf.records.masking_rules import masking_from_json


class StepShapes:
    """The sizes of the steps of one run.

    Args:
        settings: of the run.
        records: that it trains on.
        shares: parts in which a batch is read.

    Attributes:
        stages: those of the settings; with --pack_sequences each with the examples that its rows have room for.
    """

    def __init__(self, settings: PretrainingSettings, records: RecordSet, shares: int):
        self._settings, self._records, self._shares = settings, records, shares
        self._packings: dict[Stage, Packing] = {}
        self.stages = settings.stages
        if settings.pack_sequences and settings.do_train:
            self._lengths = sample_lengths(records.paths, records.max_seq_length)
            self.stages = Stages(tuple(map(self._pack, settings.stages)))

    def _pack(self, stage: Stage) -> Stage:
        rows = stage.batch_size // self._shares
        packing = plan_packing(self._lengths, rows, self._length(stage), self._rules(stage))
        packed = dataclasses.replace(stage, batch_size=packing.examples * self._shares)
        self._packings[packed] = packing
        return packed

    def of(self, stage: Stage) -> tuple[int, int, int]:
        """(rows over all devices, tokens of a row, predictions of a row) of a stage's steps."""
        if packing := self.packing(stage):
            return packing.rows * self._shares, self._length(stage), packing.predictions
        predictions = self._settings.max_predictions_per_seq
        if stage.reading != AS_MADE:
            predictions = self._rules(stage).max_predictions_per_seq
        return stage.batch_size, self._length(stage), predictions

    def packing(self, stage: Stage) -> Packing | None:
        """The rows of a share of a stage's steps; None without --pack_sequences."""
        return self._packings.get(stage)

    def steps_into_window(self, step: int) -> int:
        """The number of steps before this one that share their examples with it; see inputs.row_packing."""
        stage = self.stages.at(step)
        packing = self.packing(stage)
        return 0 if packing is None else (step - stage.first_step) % packing.steps

    def describe(self, stage: Stage) -> str:
        """A line on how many examples a stage's rows hold, and how much of them is padding."""
        rows, length, _ = self.of(stage)
        mean = np.minimum(self._lengths, length).mean()
        return (
            f"a step has {stage.batch_size:,} examples in {rows:,} rows of {length} tokens; "
            f"{max(0, 1 - stage.batch_size * mean / (rows * length)):.1%} of them are padding, "
            f"and would be {1 - mean / length:.1%} with one in a row"
        )

    def _length(self, stage: Stage) -> int:
        return stage.reading.seq_length or self._settings.max_seq_length

    def _rules(self, stage: Stage):
        rules, _ = masking_from_json(self._records.manifest.masking_parameters)
        return stage.reading.rules(rules, self._settings.max_seq_length)
