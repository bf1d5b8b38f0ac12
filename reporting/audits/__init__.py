"""Stress tests of judges.

May use report, logic, accuracy, findings and the rooms below them.
"""
