"""Ways of judging set side by side: the configurations of an ablation and their runs.

May use runs and the rooms below it.
"""
