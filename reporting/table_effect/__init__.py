"""The effect of comparison tables on people's votes.

May use accuracy, findings and the rooms below them.
"""
