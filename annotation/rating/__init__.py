"""Rating a HIT: the pages of annotators, votes in both stages, comparison tables and placebos, the way to the next HIT.

May use allocation and the rooms below it.
"""
