"""Watching batches and annotators: progress, idle claims, reports, decisions on one annotator.

May use batches, privacy and the rooms below them.
"""
