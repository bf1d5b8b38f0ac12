"""Logical consistency of judges and people among several texts, and their preferences repaired and written as training data.

May use core and exports.
"""
