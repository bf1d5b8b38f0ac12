"""The pictures of findings. Each is drawn from the findings' JSON alone.

May use reporting's core, and the names of tests in the room of rankings.
"""
