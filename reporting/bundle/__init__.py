"""A study as a folder of files, from which its findings can be computed again and the study made elsewhere.

May use findings, the rooms of pages whose numbers it states, and those below.
"""
