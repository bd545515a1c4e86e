"""Rows in, rows with answers out: what predict, fill_mask, embed_texts and search_texts read and write."""
