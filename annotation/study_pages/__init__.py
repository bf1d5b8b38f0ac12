"""The pages of one study and the list of studies.

May use monitoring and the rooms below it.
"""
