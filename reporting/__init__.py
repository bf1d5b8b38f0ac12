"""Findings from people's and judges' ratings, room by room. It owns no ratings."""
