"""Annotators within a study: how they are made, their consent, messages to them, what they are owed.

May use studies, hits, models, questions and core.
"""
