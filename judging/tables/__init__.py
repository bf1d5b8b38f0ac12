"""Comparison tables made by models: making, checking and showing them.

May use runs and the rooms below it.
"""
