"""Shared parts of judging: errors, form fields, prices, bulk SQL.

May use models.
"""
