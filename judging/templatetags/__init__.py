"""Template tags of the judges' pages."""
