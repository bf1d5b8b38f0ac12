"""The people of a study one by one, and what lists them for an admin to look at.

May use pooled and the rooms below it.
"""
