"""Text similarities: functions from two lists of texts to the matrix of their similarities."""
