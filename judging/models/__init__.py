"""The tables of judging, split by noun."""

from judging.models.judge import Endpoint, Judge
from judging.models.run import Completion, Judgment, JudgeRun

__all__ = ["Completion", "Endpoint", "Judge", "JudgeRun", "Judgment"]
