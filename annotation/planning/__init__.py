"""Planning a study's size: from a pilot, the texts and the pay to the numbers of instances, pairs and raters.

May use annotators, members, quality, separability and the rooms below them.
"""
