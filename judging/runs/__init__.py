"""Runs: pairs, estimates, workers that fill cells, provider batches, figures.

May use aspects, generation, review, wordings and the rooms below them.
"""
