"""Additions to Django's ORM: prepared queries with a log of slow ones, aggregates and arrays of rows, bulk SQL, snapshots.

May use no other room.
"""
