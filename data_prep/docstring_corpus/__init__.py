"""The demo's corpus: the prose in the sources of what is installed."""
