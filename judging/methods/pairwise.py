"""Judges that choose between two texts shown side by side (Jeong et al. 2025, figs. 3 to 11)."""

from collections.abc import Callable, Mapping
from typing import Any, ClassVar

from analysis.types import Verdict
from annotation.core.reasons import reason
from judging.core.errors import UnparsedVerdict
from judging.methods.base import Outcome, Presentation, Reply, Setting, register, with_ties
from judging.methods.parsing.logprobs import shares_at, tokens_in
from judging.methods.parsing.parsers import FIRST, SECOND
from judging.methods.parsing.scores import read_text
from judging.methods.prompted import WITH_LOGPROBS, Preparation, PromptedMethod, plain_call


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
        source = {"source": presentation.source}
        [answer] = yield [
            plain_call("reference", "answer.v1.txt", presentation, setting, source, read_text, reusable=True)
        ]
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
