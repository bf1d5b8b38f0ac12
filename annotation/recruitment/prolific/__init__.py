"""Prolific as a channel: submissions, completion codes, webhooks and payments.

May use what recruitment may use, and recruitment's own modules; nothing of another platform.
"""
