"""Shared parts of judging: errors, constants, form fields, prices, bulk SQL.

May use models.
"""
