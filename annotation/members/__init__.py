"""Accounts, groups and roles: signing in, who may open which page, who belongs to a group or a study.

May use studies, hits, models, questions and core.
"""
