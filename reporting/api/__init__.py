"""The JSON API: lists and rows of what a user may read, findings, and the tokens that programs use.

May use every room of reporting.
"""
