"""The judging methods. Importing this package registers them; a new module is named here."""

from judging.judges import (  # noqa: F401  (each registers its classes)
    baselines,
    direct,
    imported,
    pairwise,
    pointwise,
    prepair,
    ranked,
)
from judging.judges.base import (
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
from judging.judges.prompted import PromptedMethod
from judging.judges.sc2 import method as sc2  # noqa: F401

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
