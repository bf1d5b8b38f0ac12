"""The pages of one study, the list of studies, and the documentation.

May use all rooms of annotation and judging, and those of reporting below it.
"""
