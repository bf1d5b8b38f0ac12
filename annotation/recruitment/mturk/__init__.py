"""Amazon Mechanical Turk as a channel: HITs, assignments, decisions and payments, by its API.

May use what recruitment may use, and recruitment's own modules; nothing of another platform.
"""
