"""Agreement between raters, of a rater with itself, and of two scores."""
