"""Choice of instances and the size of a study. Uses agreement and intervals."""
