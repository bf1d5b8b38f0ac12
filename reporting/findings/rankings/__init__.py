"""Rankings of systems over all configurations, and tests between them.

May use pooled and the rooms below it.
"""
