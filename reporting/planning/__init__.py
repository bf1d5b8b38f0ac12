"""A study's frozen plan, on its page and in the API.

May use findings and the rooms below them.
"""
