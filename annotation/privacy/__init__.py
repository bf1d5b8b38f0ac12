"""Personal data: what is held about a person, giving it to them, deleting it on request or when its time is over.

May use rating and the rooms below it.
"""
