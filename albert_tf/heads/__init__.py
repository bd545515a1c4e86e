"""What stands on the encoder: masked-LM, sentence order."""
