"""Verdicts and scores read from a judge's answer: its parts, its phrases, and the probabilities of tokens."""
