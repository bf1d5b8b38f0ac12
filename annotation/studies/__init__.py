"""Studies: settings, archive, log, and ratings as arrays for `analysis`.

May use hits, models, questions and core.
"""
