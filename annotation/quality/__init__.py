"""The quality of annotators' work: qualifications, hidden checks, exclusions.

May use studies, hits, models, questions and core.
"""
