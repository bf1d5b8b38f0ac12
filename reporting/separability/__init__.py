"""How distinguishable the systems of a study are, and which instances are worth rating.

May use accuracy, findings and the rooms below them.
"""
