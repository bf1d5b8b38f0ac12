"""Judges that choose between two texts shown side by side (Jeong et al. 2025, figs. 3 to 11), at once or after notes.

PrePair assesses each text by itself before the choice (§4); PrePair* assesses both at once, and variants use criteria
generated for each instance. Rankings of two names, as a list or as a function call, are the forms of AlpacaEval's judges.
"""

from collections.abc import Callable, Mapping
from typing import Any, ClassVar

from analysis.types import Verdict
from annotation.core.reasons import reason
from judging.core.errors import UnparsedVerdict
from judging.methods.base import Call, Outcome, Presentation, Reply, Setting, register, with_ties
from judging.methods.parsing.logprobs import shares_at, tokens_in
from judging.methods.parsing.parsers import FIRST, FUNCTION, NAMES, SECOND
from judging.methods.parsing.scores import read_critique, read_text
from judging.methods.prompted import WITH_LOGPROBS, Preparation, PromptedMethod, plain_call

RANKING = {
    "type": "array",
    "description": "Both names, each with its rank.",
    "minItems": 2,
    "maxItems": 2,
    "items": {
        "type": "object",
        "properties": {"name": {"type": "string", "enum": list(NAMES)}, "rank": {"type": "integer", "enum": [1, 2]}},
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
class Pairwise(PromptedMethod):
    """Answers with the verdict alone, without an explanation."""

    name = "pairwise"
    prompt = "pairwise.v1.txt"
    parser = "letter"
    own_wording = True
    options: ClassVar[Mapping[str, Any]] = {"logprobs": False, "tie_below": 0, "verdict_schema": False}


@register
class PairwiseWithTie(Pairwise):
    """Chooses at once. A tie is on offer."""

    name = "pairwise-tie"

    def ties(self, setting: Setting) -> bool:
        """Always offer the tie."""
        return True


@register
class PairwiseWithExplanation(PromptedMethod):
    """Explains briefly and then chooses."""

    name = "pairwise-cot"
    prompt = "pairwise-cot.v1.txt"
    own_wording = True


@register
class ProsAndCons(PromptedMethod):
    """Lists what speaks for and against each text and then chooses."""

    name = "pros-cons"
    prompt = "pros-cons.v1.txt"
    own_wording = True


@register
class ReferenceGuided(PromptedMethod):
    """Measures both texts by a reference: the one that the instance has, or else an answer of the judge's own."""

    name = "reference"
    prompt = "reference.v1.txt"
    further = ("answer.v1.txt",)

    def prepare(self, presentation: Presentation, setting: Setting) -> Preparation:
        """Ask for a reference answer, once per instance, if none is given."""
        if presentation.reference.strip():
            return {"reference": presentation.reference}
        [answer] = yield [plain_call("reference", "answer.v1.txt", presentation, setting, read_text, reusable=True)]
        return {"reference": answer}


@register
class TokenPreference(PromptedMethod):
    """Reads no word: which of the two letters is the likelier one token of answer.

    P(second) / (P(first) + P(second)) over the alternatives of that token; above one half the second text is chosen, at
    one half it is a tie. Where both letters together have less than half of the probability, the answer is unparsed.
    """

    name = "token-preference"
    prompt = "token-preference.v1.txt"
    default_params: ClassVar[Mapping[str, Any]] = {"temperature": 0, "max_tokens": 1}
    options: ClassVar[Mapping[str, Any]] = {"tie_below": 0}
    gives_probability = True

    def params(self, setting: Setting) -> Mapping[str, Any]:
        """Ask for the alternatives of the one token."""
        return WITH_LOGPROBS

    def reader(self, presentation: Presentation, setting: Setting) -> Callable[[Reply], Outcome]:
        """Return a reader that compares the letters' probabilities."""

        def outcome(reply: Reply) -> Outcome:
            tokens = tokens_in(reply.response)
            shares = shares_at(tokens[0], (FIRST, SECOND)) if tokens else None
            if shares is None:
                raise UnparsedVerdict(reason("no_logprobs"))
            if shares.is_noise:
                why = reason("small_token_mass", mass=shares.mass, text=reply.text[:200])
                raise UnparsedVerdict(why, token_mass=shares.mass)
            p_second = 1 - shares.of[SECOND] if presentation.negated else shares.of[SECOND]
            verdict = Verdict(round(p_second > 0.5) - round(p_second < 0.5))
            return with_ties(Outcome(verdict, p_second=p_second, token_mass=shares.mass), setting)

        return outcome


def critique_call(presentation: Presentation, setting: Setting, text: str, *, criteria: str = "") -> Call:
    """Return the call to assess one text, which depends on that text and its instance only.

    It is the same for the negated question.
    """
    prompt = "critique-by-criteria.v1.txt" if criteria else "critique.v1.txt"
    texts = {"text": text, "criteria": criteria}
    return plain_call("critique", prompt, presentation, setting, read_critique, texts=texts, reusable=True)


def criteria_call(presentation: Presentation, setting: Setting) -> Call:
    """Return the call for the criteria of an instance, which shows neither text."""
    return plain_call("metrics", "metrics.v1.txt", presentation, setting, read_critique, reusable=True)


class WithNotes(PromptedMethod):
    """Uses the assessments as the rationale of the verdict."""

    def reasons(self, values: Mapping[str, str]) -> str:
        """Return the assessments."""
        if "notes" in values:
            return values["notes"]
        return f"A: {values['notes_first']}\n\nB: {values['notes_second']}"


@register
class PrePair(WithNotes):
    """Assesses each text by itself, once for all its pairs, and then chooses."""

    name = "prepair"
    prompt = "prepair.v1.txt"
    further = ("critique.v1.txt",)

    def prepare(self, presentation: Presentation, setting: Setting) -> Preparation:
        """Assess each text."""
        first, second = yield [
            critique_call(presentation, setting, text) for text in (presentation.first, presentation.second)
        ]
        return {"notes_first": first, "notes_second": second}


@register
class PrePairSideBySide(WithNotes):
    """Assesses both texts in one answer, side by side, and then chooses: PrePair* of the paper."""

    name = "prepair-star"
    prompt = "prepair-star.v1.txt"
    further = ("critiques.v1.txt",)

    def prepare(self, presentation: Presentation, setting: Setting) -> Preparation:
        """Assess both texts in one call."""
        [notes] = yield [plain_call("critique", "critiques.v1.txt", presentation, setting, read_critique)]
        return {"notes": notes}


@register
class SelfGeneratedMetrics(PromptedMethod):
    """Writes down criteria for the instance, once for all its pairs, and chooses by them."""

    name = "sgm"
    prompt = "sgm.v1.txt"
    further = ("metrics.v1.txt",)

    def prepare(self, presentation: Presentation, setting: Setting) -> Preparation:
        """Generate the criteria."""
        [criteria] = yield [criteria_call(presentation, setting)]
        return {"criteria": criteria}

    def reasons(self, values: Mapping[str, str]) -> str:
        """Return the criteria as the rationale."""
        return values["criteria"]


@register
class PrePairWithMetrics(WithNotes):
    """Writes down criteria for the instance, assesses each text by them, and then chooses."""

    name = "sgm-prepair"
    prompt = "sgm-prepair.v1.txt"
    further = ("metrics.v1.txt", "critique-by-criteria.v1.txt")

    def prepare(self, presentation: Presentation, setting: Setting) -> Preparation:
        """Generate the criteria, then assess both texts by them."""
        [criteria] = yield [criteria_call(presentation, setting)]
        first, second = yield [
            critique_call(presentation, setting, text, criteria=criteria)
            for text in (presentation.first, presentation.second)
        ]
        return {"criteria": criteria, "notes_first": first, "notes_second": second}


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
