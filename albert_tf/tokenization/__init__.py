"""Text to ids and back: cleaning, the sentencepiece vocabulary, the same as a graph, packing."""
