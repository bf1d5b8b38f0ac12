"""Where annotators come from: channels, one adapter a kind of channel, invitations, limits for arrivals.

May use annotators, members, quality, separability and the rooms below them; platforms lie in rooms of their own inside.
"""
