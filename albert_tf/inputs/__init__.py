"""The border between data and model: records, their manifest, and the datasets read from them."""
