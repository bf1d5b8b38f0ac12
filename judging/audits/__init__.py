"""Asking a judge apart from its runs: a run that audits its consistency or that rankings ask, and stress tests.

May use runs and the rooms below it.
"""
