"""Who gets which HIT: the queue of free slots, claims and their leases, arms, limits per annotator.

May use importing, planning, recruitment and the rooms below them.
"""
