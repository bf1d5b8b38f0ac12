"""Planning a study's size from a pilot, the texts and the pay; and a plan that is frozen before the first vote.

May use annotators, members, quality, separability and the rooms below them.
"""
