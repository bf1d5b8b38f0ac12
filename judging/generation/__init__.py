"""Sampling a system's texts at an endpoint.

May use calls, importing and the rooms below them.
"""
