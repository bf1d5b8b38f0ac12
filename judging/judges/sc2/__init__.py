"""SC²: choose with the help of a structured comparison (Predicting Text Preference Via Structured Comparative Reasoning).

aspects.py : under which aspects two texts are compared, fixed or asked for and made agreeable
tables.py  : what a comparison table is, how it is asked for and read
bracket.py : which of several tables wins, by how many calls of the comparator
method.py  : the judge, which chooses with the winning table before it
record.py  : what is kept of all that
"""
