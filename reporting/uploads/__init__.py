"""Uploads: files of any kind, imported into a study by a task with progress.

May use the importing of annotation and judging, and bundles.
"""
