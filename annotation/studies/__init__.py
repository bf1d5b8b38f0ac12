"""A study: its settings, configurations, archive, log, and its ratings as arrays for `analysis`.

May use hits, models, questions and core.
"""
