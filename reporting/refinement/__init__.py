"""Preferences of people and judges, as given or repaired by logic, written as training data.

May use logic and the rooms below it.
"""
