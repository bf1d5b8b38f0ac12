"""The answer of a study in a few sentences, each from a rule and with its evidence.

May use judges, raters and rankings, and the rooms below them.
"""
