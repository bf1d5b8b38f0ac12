"""The questions of a pair: what is asked, which answers are offered and what they are called, and how answers are kept apart.

May use core.
"""
