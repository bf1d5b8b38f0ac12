"""Rankings of a study's systems for which a judge is asked step by step, by a design: the page, the price beforehand, the worker's task.

May use accuracy, findings and the rooms below them.
"""
