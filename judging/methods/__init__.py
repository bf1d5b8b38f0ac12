"""The judging methods: which questions a judge asks about a pair, and how its answers are read.

May use core, jobs, outcomes and models; importing this package registers the methods.
"""

from judging.methods import (
    baselines,  # noqa: F401  (each registers its classes)
    direct,  # noqa: F401  (each registers its classes)
    imported,  # noqa: F401  (each registers its classes)
    pairwise,  # noqa: F401  (each registers its classes)
    pointwise,  # noqa: F401  (each registers its classes)
    prepair,  # noqa: F401  (each registers its classes)
    ranked,  # noqa: F401  (each registers its classes)
)
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
