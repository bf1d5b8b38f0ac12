"""Sampling a system's texts at an endpoint.

May use calls, embeddings, importing and the rooms below them.
"""
