"""What findings are computed from: a study's verdicts as arrays, the filters that choose them, and the state of the data.

May use reporting's core and exports, and no other room of findings.
"""
