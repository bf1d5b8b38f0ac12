"""Files of rows, read line by line within bounds: JSON Lines, CSV, Parquet.

May use the errors of `annotation.core`, and the progress of `annotation.core.tasks`.
"""
