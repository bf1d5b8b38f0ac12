"""Long work that one process at a time does: queueing, the lease, progress, stopping and resuming.

May use models and core.
"""
