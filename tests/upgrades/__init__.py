"""Databases of earlier releases are brought up to date."""
