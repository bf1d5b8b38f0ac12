"""Whether this installation can read and save, for load balancers and monitors.

May use no other room.
"""
