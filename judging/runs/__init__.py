"""Runs: which pairs a judge rates, estimates, workers that fill the cells, provider batches, figures of a run.

May use aspects, generation, review, wordings and the rooms below them.
"""
