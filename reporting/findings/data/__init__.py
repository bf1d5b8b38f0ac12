"""Input of findings: verdicts as arrays, filters, and the state of the data.

May use reporting's core and exports, and no other room of findings.
"""
