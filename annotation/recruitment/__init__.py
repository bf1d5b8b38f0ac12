"""Recruitment of annotators: channels with one adapter a kind, invitations, limits for arrivals.

May use annotators, members, quality, separability and the rooms below them; platforms lie in rooms of their own inside.
"""
