"""Imports of study files, ratings, tables and Mechanical Turk results, and copies of studies.

May use annotators, members, quality, separability and the rooms below them.
"""
