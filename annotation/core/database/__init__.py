"""What Django's ORM lacks: prepared queries, aggregates and arrays of rows, snapshots, statistics, the log of slow statements, and
which migrations stop old code.

May use no other room.
"""
