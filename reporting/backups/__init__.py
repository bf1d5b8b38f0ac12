"""Backups: the whole database in a file that either engine reads, and erasures that were made after it.

May use no other room.
"""
