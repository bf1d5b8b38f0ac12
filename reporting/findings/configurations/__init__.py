"""The findings on one rater in one configuration, plain and weighted. The same for people and judges.

May use data and measures.
"""
