"""The aspects that a task's texts are compared under: distilling them, their versions, changing them by hand.

May use calls, importing and the rooms below them.
"""
