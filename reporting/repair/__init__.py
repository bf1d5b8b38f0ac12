"""Repaired preferences: a ranking of each instance's texts from chosen ratings, and training data from all that it implies.

May use core and exports.
"""
