"""The page of all files of a study: rows for download, and files that the worker makes.

May use bundle, logic, report and the rooms below them.
"""
