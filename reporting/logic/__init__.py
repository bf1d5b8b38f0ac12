"""Logical consistency of judges and people among several texts, and rankings of texts by few comparisons, which ask a judge.

May use core and exports.
"""
