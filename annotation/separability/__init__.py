"""Separability: similarities and their language models, alignments, and the jobs that compute and store them.

May use studies, hits, models, questions and core.
"""
