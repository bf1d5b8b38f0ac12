"""Timings against other implementations: run them all with `make bench`."""
