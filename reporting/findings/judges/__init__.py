"""True if judges may be believed: agreement with people, biases, and whether a judge may stand in for a person.

May use pooled and the rooms below it.
"""
