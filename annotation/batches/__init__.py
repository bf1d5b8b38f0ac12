"""Batches: sampling instances, making, extending and copying a batch, and what it would cost.

May use rating and the rooms below it.
"""
