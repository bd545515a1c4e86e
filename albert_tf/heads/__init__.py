"""Heads on the encoder, such as masked LM and sentence order."""
