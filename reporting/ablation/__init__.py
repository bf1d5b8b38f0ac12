"""Ways of judging side by side: accuracy, calls and costs.

May use accuracy, findings and the rooms below them.
"""
