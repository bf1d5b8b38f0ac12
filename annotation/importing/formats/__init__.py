"""Parsers of the import formats, which check each line.

May use models, questions and core; it reads no database.
"""
