"""A study's ratings, votes, flags and judgments in long form, as CSV and JSON Lines.

May use no other room.
"""
