"""Corrections of a study: renaming, replacing texts, taking imports back, merging raters, deleting.

May use downloads, uploads and the rooms below them.
"""
