"""Fixtures of every module of this folder."""

from tests.annotation.recruitment.prolific.setup import (
    prolific,
    shared_channel,
    shared_study,
    stored_channel,
    stored_study,
)

__all__ = ["prolific", "shared_channel", "shared_study", "stored_channel", "stored_study"]
