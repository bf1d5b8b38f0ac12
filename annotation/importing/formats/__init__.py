"""Parsers of the import formats, which check each line."""
