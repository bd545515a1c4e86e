"""Names in the records: the features of an example, and the tasks of two segments; and the official lengths."""

SEQUENCE_FEATURES = ("input_ids", "input_mask", "segment_ids")
PREDICTION_FEATURES = ("masked_lm_positions", "masked_lm_ids")
WEIGHTS_FEATURE = "masked_lm_weights"
BOUNDARY_FEATURE = "token_boundary"
# The official name on disk; renamed once, when a record is parsed.
LABEL_ON_DISK, LABEL = "next_sentence_labels", "sentence_order_labels"
# Of records whose masks are drawn in training, beside input_ids and the label.
FIRST_LENGTH_FEATURE = "first_segment_length"
BOUNDARY_BITS_FEATURE = "token_boundary_bits"
# Of a batch whose rows hold several examples: which of them each token is of, from 1; where each begins; 1 for each
# that is there.
SEQUENCE_IDS, SEQUENCE_STARTS, SEQUENCE_WEIGHTS = "sequence_ids", "sequence_starts", "sequence_weights"
# Weight of an example of an evaluation's batch: 0 where it only fills the last one.
EXAMPLE_WEIGHTS = "example_weights"
# Tokens and masked positions of records of which nothing else is said (create_pretraining_data.py and
# run_pretraining.py of google-research/ALBERT).
MAX_SEQ_LENGTH, MAX_PREDICTIONS_PER_SEQ = 512, 20

# In order or swapped (paper, section 3.1); of one document or of two (BERT); a single segment without a task.
SOP, NSP, NONE = "sop", "nsp", "none"
SENTENCE_TASKS = (SOP, NSP, NONE)
