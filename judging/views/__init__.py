"""The judges' pages."""
