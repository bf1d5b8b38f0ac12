"""Pairs on which people and judges disagree: found, sorted by how much, and opened with all votes and rationales.

May use accuracy, findings and the rooms below them.
"""
