"""The names of the pieces that stand for no text."""

PAD, UNK, CLS, SEP, MASK = "<pad>", "<unk>", "[CLS]", "[SEP]", "[MASK]"
SPECIAL_PIECES = (PAD, UNK, CLS, SEP, MASK)
# What a vocabulary must have; the unknown piece is known by its type, and may have a different name.
REQUIRED_PIECES = (PAD, CLS, SEP, MASK)
