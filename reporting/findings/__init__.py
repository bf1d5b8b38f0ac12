"""The findings of a study.

May use core and exports. Its rooms, from data to page, and their order are in docs/architecture.md.
"""
