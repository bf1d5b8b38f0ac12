"""Shared parts of reporting: raters, estimates, charts, texts for a terminal.

May use no other room.
"""
