"""The tables of judging, split by noun."""

from judging.models.judge import Endpoint, Judge, PromptFile
from judging.models.run import Completion, JudgeRun, Judgment, ProviderBatch, RationaleMark, RunWorker

__all__ = [
    "Completion",
    "Endpoint",
    "Judge",
    "JudgeRun",
    "Judgment",
    "PromptFile",
    "ProviderBatch",
    "RationaleMark",
    "RunWorker",
]
