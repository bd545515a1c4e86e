"""Rows in, rows with answers out: what predict and fill_mask read and write."""
