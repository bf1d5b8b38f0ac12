"""Scores of systems over all their comparisons: rates, Elo, Bradley-Terry, and what the comparisons allow to rank."""

from analysis.ranking.bradley_terry import BradleyTerry, Fits, bradley_terry, fit_win_matrices, rating
from analysis.ranking.comparisons import WinMatrix, grouped_win_matrices, resampled_win_matrices, win_matrix
from analysis.ranking.elo import elo, elo_of_rows, sampled_elo, sampled_rows, sep_elo_weight
from analysis.ranking.graph import components, preference_cycles
from analysis.ranking.rates import (
    Rates,
    matrix_win_loss_rates,
    matrix_win_rates,
    win_loss_rate,
    win_loss_sums,
    win_rate,
    win_rates,
    win_sums,
)
from analysis.ranking.settling import NextPlace, next_place
from analysis.ranking.spread import (
    Differences,
    LeftOut,
    differences,
    jackknife_covariance,
    left_out_ratios,
    left_out_strengths,
    ranks,
)

__all__ = [
    "BradleyTerry",
    "Differences",
    "Fits",
    "LeftOut",
    "NextPlace",
    "Rates",
    "WinMatrix",
    "bradley_terry",
    "components",
    "differences",
    "elo",
    "elo_of_rows",
    "fit_win_matrices",
    "grouped_win_matrices",
    "jackknife_covariance",
    "left_out_ratios",
    "left_out_strengths",
    "matrix_win_loss_rates",
    "matrix_win_rates",
    "next_place",
    "preference_cycles",
    "ranks",
    "rating",
    "resampled_win_matrices",
    "sampled_elo",
    "sampled_rows",
    "sep_elo_weight",
    "win_loss_rate",
    "win_loss_sums",
    "win_matrix",
    "win_rate",
    "win_rates",
    "win_sums",
]
