"""Mail: stored, then sent by the worker, each once. The rooms above write the texts of their kinds.

May use models and core.
"""
