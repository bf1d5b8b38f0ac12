"""Confidence intervals over instances, and the distributions, tests and curves that they rest on."""
