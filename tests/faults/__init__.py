"""Everything that a server does at once, while its processes are killed, its disk fills, its clock jumps and its database dies.

    make faults

Raters are those of `tests.stress`.
"""
