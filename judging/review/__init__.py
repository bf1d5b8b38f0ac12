"""Looking at judgments: how one came about, two raters side by side, marks on rationales.

May use calls, importing and the rooms below them.
"""
