"""Findings from people's and judges' ratings, room by room; it owns no ratings."""
