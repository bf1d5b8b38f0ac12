"""Scores of systems over all their comparisons: rates, Elo, Bradley-Terry, and what the comparisons allow to rank."""

from analysis.ranking.bradley_terry import BradleyTerry, Fits, bradley_terry, fit_win_matrices, rating
from analysis.ranking.comparisons import WinMatrix, resampled_win_matrices, win_matrix
from analysis.ranking.elo import elo, sep_elo_weight
from analysis.ranking.graph import components, preference_cycles
from analysis.ranking.rates import Rates, win_loss_rate, win_loss_sums, win_rate, win_rates, win_sums

__all__ = [
    "BradleyTerry",
    "Fits",
    "Rates",
    "WinMatrix",
    "bradley_terry",
    "components",
    "elo",
    "fit_win_matrices",
    "preference_cycles",
    "rating",
    "resampled_win_matrices",
    "sep_elo_weight",
    "win_loss_rate",
    "win_loss_sums",
    "win_matrix",
    "win_rate",
    "win_rates",
    "win_sums",
]
