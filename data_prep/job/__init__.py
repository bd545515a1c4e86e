"""Making records as one job of many processes, resumable."""
