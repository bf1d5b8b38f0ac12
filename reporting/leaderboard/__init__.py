"""The leaderboard of a study: the findings' rankings of its systems with intervals as ranks, by data set, and what would settle them.

May use findings and the rooms below it.
"""
