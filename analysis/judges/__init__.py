"""Measures of judges: accuracy, juries, replacement of raters, and checks of prompts and comparison tables.

Uses agreement, intervals and similarity.
"""
