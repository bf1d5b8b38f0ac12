"""Separability of a study's systems, and instances worth rating.

May use accuracy, findings and the rooms below them.
"""
