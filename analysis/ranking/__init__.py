"""Scores of systems over all their comparisons: rates, Elo, Bradley-Terry, and what the comparisons allow to rank."""
