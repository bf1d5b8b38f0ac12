"""Stress tests of judges, and checks of their drift.

May use report, logic, accuracy, findings and the rooms below them.
"""
