"""Benchmarks: each prints one JSON line. `make bench` runs them all."""
