"""A judge's audit as one run: all pairs of texts of an instance, in both orders, plain and negated, with repeats; and the run
of a judge that rankings ask for single comparisons. Stress tests of a judge on changed texts, and checks of its drift.

May use runs and the rooms below it.
"""
