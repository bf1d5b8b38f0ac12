"""The judging methods. Importing this package registers them; a new module is named here."""

from judging.judges import baselines, direct  # noqa: F401  (each registers its classes)
from judging.judges.base import Baseline, Method, Presentation, PromptedMethod, find_method, method_names

__all__ = ["Baseline", "Method", "Presentation", "PromptedMethod", "find_method", "method_names"]
