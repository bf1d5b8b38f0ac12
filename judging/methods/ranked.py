"""Judges that answer with a ranking of two names, as a list or as a function call (the forms of AlpacaEval's judges)."""

from collections.abc import Mapping
from typing import Any, ClassVar

from judging.methods.base import Setting, register
from judging.methods.parsing.parsers import FUNCTION, NAMES
from judging.methods.prompted import PromptedMethod

RANKING = {
    "type": "array",
    "description": "Both names, each with its rank.",
    "minItems": 2,
    "maxItems": 2,
    "items": {
        "type": "object",
        "properties": {
            "name": {"type": "string", "enum": list(NAMES)},
            "rank": {"type": "integer", "enum": [1, 2]},
        },
        "required": ["name", "rank"],
    },
}
TOOL = {
    "type": "function",
    "function": {
        "name": FUNCTION,
        "description": "Says which of the two texts gets which rank, and why.",
        "parameters": {
            "type": "object",
            "properties": {
                "explanation": {"type": "string", "description": "The reasons, before anything is ranked."},
                "ranking": RANKING,
            },
            "required": ["explanation", "ranking"],
        },
    },
}


@register
class RankedList(PromptedMethod):
    """Answers with a list of the two names and their ranks."""

    name = "ranked-list"
    prompt = "ranked-list.v1.txt"
    parser = "ranked-list"
    options: ClassVar[Mapping[str, Any]] = {}


@register
class RankedFunction(PromptedMethod):
    """Calls a function with an explanation and then the ranking. The same as JSON in the text is read as well."""

    name = "ranked-function"
    prompt = "ranked-function.v1.txt"
    parser = "function"
    options: ClassVar[Mapping[str, Any]] = {}

    def params(self, setting: Setting) -> Mapping[str, Any]:
        """Force a call of the function."""
        return {"tools": [TOOL], "tool_choice": {"type": "function", "function": {"name": FUNCTION}}}
