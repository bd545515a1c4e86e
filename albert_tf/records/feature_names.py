"""Names of the features of a record, on disk and in a batch."""

SEQUENCE_FEATURES = ("input_ids", "input_mask", "segment_ids")
PREDICTION_FEATURES = ("masked_lm_positions", "masked_lm_ids")
WEIGHTS_FEATURE = "masked_lm_weights"
BOUNDARY_FEATURE = "token_boundary"
# The official name on disk; renamed once, when a record is parsed.
LABEL_ON_DISK, LABEL = "next_sentence_labels", "sentence_order_labels"
# Of records whose masks are drawn in training, beside input_ids and the label.
FIRST_LENGTH_FEATURE = "first_segment_length"
BOUNDARY_BITS_FEATURE = "token_boundary_bits"
