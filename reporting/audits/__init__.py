"""Stress tests of judges, checks of their drift, and a card for each judge with all that is known of it.

May use report, logic, accuracy, findings and the rooms below them.
"""
