"""Scripted raters: annotators that are programs."""

SCRIPTED = "includes ratings by scripted raters: programs, not people"
