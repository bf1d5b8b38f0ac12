"""A study's report: one page that stands alone, for those who have no account here.

May use findings and the rooms below it.
"""
