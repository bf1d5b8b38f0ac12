"""Judgments made elsewhere, read into a study.

May use endpoints, methods and the rooms below them.
"""
