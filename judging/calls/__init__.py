"""Carrying out procedures: requests, the cache of completions, budgets, the pool of procedures under way.

May use endpoints, methods and the rooms below them.
"""
