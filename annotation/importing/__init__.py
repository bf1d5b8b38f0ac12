"""Files into studies: study files, ratings, comparison tables, Mechanical Turk results; and copies of studies.

May use annotators, members, quality, separability and the rooms below them.
"""
