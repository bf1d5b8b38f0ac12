"""The judging methods: which questions a judge asks about a pair, and how its answers are read.

May use core, jobs, outcomes and models; importing this package registers the methods.
"""

# Each of these registers its classes.
from judging.methods import baselines, direct, pairwise, pointwise  # noqa: F401
from judging.methods.base import (
    AskingMethod,
    Baseline,
    Call,
    Method,
    Outcome,
    Presentation,
    Procedure,
    Reply,
    Setting,
    find_method,
    method_names,
)
from judging.methods.prompted import PromptedMethod
from judging.methods.sc2 import method as sc2  # noqa: F401

__all__ = [
    "AskingMethod",
    "Baseline",
    "Call",
    "Method",
    "Outcome",
    "Presentation",
    "Procedure",
    "PromptedMethod",
    "Reply",
    "Setting",
    "find_method",
    "method_names",
]
