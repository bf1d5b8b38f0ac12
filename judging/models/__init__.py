"""The tables of judging, split by noun."""

from judging.models.generation import GenerationRun
from judging.models.judge import Endpoint, Judge, PromptFile
from judging.models.run import Completion, JudgeRun, Judgment, ProviderBatch, RationaleMark, RunWorker
from judging.models.tables import AspectSet, Embedding, TableCheck, TableMaking

__all__ = [
    "AspectSet",
    "Completion",
    "Embedding",
    "Endpoint",
    "GenerationRun",
    "Judge",
    "JudgeRun",
    "Judgment",
    "PromptFile",
    "ProviderBatch",
    "RationaleMark",
    "RunWorker",
    "TableCheck",
    "TableMaking",
]
