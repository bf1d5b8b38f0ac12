"""What comparison tables change in people's votes.

May use accuracy, findings and the rooms below them.
"""
