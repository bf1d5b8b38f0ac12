"""Work that takes long: leases of worker processes on a run, progress, stopping on request.

May use models.
"""
