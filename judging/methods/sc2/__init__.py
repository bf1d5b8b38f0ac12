"""SC²: choose with the help of a structured comparison (Predicting Text Preference Via Structured Comparative Reasoning).

aspects.py : the aspects of a comparison, fixed or generated
tables.py  : generating and parsing comparison tables
bracket.py : schemes that find the most consistent table by comparator calls
method.py  : the judge, which decides with the winning table
record.py  : the stored record of all that

May use what methods may use, and methods' own modules.
"""
