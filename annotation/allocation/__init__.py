"""Allocation of HITs: the queue of free slots, claims with leases, arms, limits per annotator.

May use importing, planning, recruitment and the rooms below them.
"""
