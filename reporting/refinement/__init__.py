"""Preferences of people and judges repaired by logic, how a repair takes back noise, and both written as training data.

May use logic and the rooms below it.
"""
