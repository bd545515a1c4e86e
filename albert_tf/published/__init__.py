"""Published weights by name: from the Hugging Face hub, and the archives of google-research/ALBERT."""
