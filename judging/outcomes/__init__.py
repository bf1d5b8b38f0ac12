"""Judgments as arrays for `analysis`, and beside the gold of pairs.

May use models.
"""
