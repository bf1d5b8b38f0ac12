"""Asking a judge apart from its runs: a run that audits its consistency or that rankings ask, stress tests, checks of its drift.

May use runs and the rooms below it.
"""
