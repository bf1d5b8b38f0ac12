"""The tables of judging, split by noun."""

from judging.models.judge import Endpoint, Judge
from judging.models.run import Completion, JudgeRun, Judgment

__all__ = ["Completion", "Endpoint", "Judge", "JudgeRun", "Judgment"]
