"""Logical consistency of one rater: of its verdicts on one pair of texts, and of its preferences among several items."""
