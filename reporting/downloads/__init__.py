"""The page of all files of a study: rows for download, and folders that the worker writes.

May use bundles, reports, preferences, exports and findings.
"""
