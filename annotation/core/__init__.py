"""Shared parts of annotation: errors, keys, files, Markdown, middleware, prepared queries.

May use no other room.
"""
