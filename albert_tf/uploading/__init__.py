"""Models put on the Hugging Face hub: converted, described, uploaded."""
