"""The findings of a study: consistency, preference, agreement, win rates, by separability.

May use core and exports.
"""
