"""Benchmarks, each against a baseline in the same run; docs/benchmarks.md has the figures."""
