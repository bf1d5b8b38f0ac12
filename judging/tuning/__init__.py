"""Judges that learn from people: the search for the settings that agree best with votes, and the judge that comes of it.

May use runs, and all below.
"""
