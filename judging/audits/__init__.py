"""A judge's audit as one run: all pairs of texts of an instance, in both orders, plain and negated, with repeats; and the run
of a judge that rankings ask for single comparisons.

May use runs and the rooms below it.
"""
