"""The tasks of two segments, as records, flags and checkpoints name them."""

# In order or swapped (paper, section 3.1); of one document or of two (BERT); a single segment without a task.
SOP, NSP, NONE = "sop", "nsp", "none"
SENTENCE_TASKS = (SOP, NSP, NONE)
