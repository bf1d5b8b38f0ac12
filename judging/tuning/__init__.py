"""Judges tuned on votes: the search for the settings that agree best with people, and the judge made with them.

May use runs and the rooms below it.
"""
