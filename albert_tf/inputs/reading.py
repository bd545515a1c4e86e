"""Reading: how records without masks are read where it is not as their manifest says."""

import dataclasses

from albert_tf.records.masking_rules import MaskingRules


@dataclasses.dataclass(frozen=True)
class Reading:
    """Settings for reading records without masks in place of those of their manifest; None keeps the manifest's.

    Attributes:
        seq_length: tokens of an example; longer ones are cut.
        masked_lm_prob: share of an example's tokens to predict.
        ngram: the longest window of masked words.
    """

    seq_length: int | None = None
    masked_lm_prob: float | None = None
    ngram: int | None = None

    def rules(self, given: MaskingRules, max_seq_length: int) -> MaskingRules:
        """The rules of masking, from those of the manifest; with room for as many predictions as can come.

        Args:
            given: of the manifest.
            max_seq_length: S of the records.
        """
        if self == AS_MADE:
            return given
        share = given.masked_lm_prob if self.masked_lm_prob is None else self.masked_lm_prob
        most = max(1, round((self.seq_length or max_seq_length) * share))
        return dataclasses.replace(
            given,
            masked_lm_prob=share,
            max_predictions_per_seq=most if self.masked_lm_prob else min(most, given.max_predictions_per_seq),
            ngram=self.ngram or given.ngram,
        )


AS_MADE = Reading()
