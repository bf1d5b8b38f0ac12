"""Tests of the scripts in examples/."""
