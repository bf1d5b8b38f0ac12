"""Fixtures of every module of this folder."""

from tests.annotation.recruitment.mturk.setup import mturk, shared_channel, stored_channel, stored_work, submitted

__all__ = ["mturk", "shared_channel", "stored_channel", "stored_work", "submitted"]
