"""Formats of dates by language that differ from Django's."""
