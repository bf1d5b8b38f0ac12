"""Researchers' own wordings of prompts: checked, kept in versions, tried on a pair.

May use calls, importing and the rooms below them.
"""
