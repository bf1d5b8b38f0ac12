"""Vectors of texts from an endpoint, as a similarity's language model.

May use endpoints, methods and the rooms below them.
"""
