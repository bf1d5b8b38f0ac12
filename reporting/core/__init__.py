"""What rooms share and no room owns: raters, estimates, charts, texts for a terminal.

May use no other room.
"""
