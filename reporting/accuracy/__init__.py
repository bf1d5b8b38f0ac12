"""Judges against gold labels.

May use core and exports.
"""
