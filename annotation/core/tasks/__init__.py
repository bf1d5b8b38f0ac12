"""Work outside of requests: the queues that tasks wait in, their progress, and threads and processes that repeat or end them.

May use no other room.
"""
