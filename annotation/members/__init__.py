"""Accounts, groups and roles: signing in, who may open which page, who belongs to a group or a study.

May use mail, studies and the rooms below them.
"""
