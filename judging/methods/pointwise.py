"""The pointwise judge: each text gets a score by itself (Jeong et al. 2025, figs. 4 and 9. Liu et al. 2023)."""

from collections.abc import Mapping
from typing import Any, ClassVar

from analysis.types import Verdict
from judging.core.errors import BadSettings
from judging.methods.base import (
    AskingMethod,
    Call,
    Outcome,
    Presentation,
    Procedure,
    Reply,
    Setting,
    register,
    with_ties,
)
from judging.methods.options import check_options
from judging.methods.own_wording import SCORE, ask_steps_of_one
from judging.methods.parsing.answers import whole
from judging.methods.parsing.parsers import VERSION
from judging.methods.parsing.scores import Score, read_score, weighted_score
from judging.methods.prompted import WITH_LOGPROBS, check_wording, last_of_wording
from judging.methods.prompts import load_prompt
from judging.methods.task_files import find_task, words_for


@register
class Pointwise(AskingMethod):
    """Scores each text from 1 to 5, once for all its pairs, and prefers the higher one. Equal scores are a tie.

    The negated question asks how bad a text is: then the lower one is preferred.
    weighted : take the mean of the scores, weighted by their probabilities, where the endpoint gives these
    """

    name = "pointwise"
    prompt = "pointwise.v1.txt"
    parser_version = VERSION
    options: ClassVar[Mapping[str, Any]] = {"weighted": True, "tie_below": 0}

    def ask(self, presentation: Presentation, setting: Setting) -> Procedure:
        """Ask for the scores of both texts, after the earlier calls of a researcher's wording."""
        texts = (presentation.first, presentation.second)
        values_of_texts = (
            (yield from ask_steps_of_one(presentation, setting, {}, texts)) if setting.wording else ({}, {})
        )
        first, second = yield [
            self.score_call(presentation, text, setting, values)
            for text, values in zip(texts, values_of_texts, strict=True)
        ]
        verdict = Verdict((second.value > first.value) - (second.value < first.value))
        masses = [score.token_mass for score in (first, second) if score.token_mass is not None]
        preferred = Verdict(-verdict) if presentation.negated else verdict
        scores = {"score_first": first.value, "score_second": second.value}
        return with_ties(Outcome(preferred, **scores, token_mass=min(masses, default=None)), setting)

    def score_call(self, presentation: Presentation, text: str, setting: Setting, values: Mapping[str, str]) -> Call:
        """Return the call about one text, which depends on that text and its instance only.

        values : earlier answers about it, by placeholder
        """
        prompt = load_prompt(self.prompt, setting)
        if setting.wording:
            prompt = last_of_wording(setting, presentation.negated, of_one=True)
        texts = {"source": presentation.source, "text": text, "reference": presentation.reference, **values}
        content = prompt.render(words_for(presentation), texts)
        weighted = bool(setting.options.get("weighted", self.options["weighted"]))

        def read(reply: Reply) -> Score:
            scored = whole(read_score(reply.text), reply)
            return weighted_score(reply, scored) if weighted else Score(float(scored.letter))

        params = WITH_LOGPROBS if weighted else {}
        return Call("score", [{"role": "user", "content": content}], read, params, reusable=True)

    def prompt_version(self, task: str, setting: Setting) -> str:
        """Return the versions of both files."""
        version = load_prompt(self.prompt, setting).version
        if setting.wording:
            version = f"{setting.wording_version or 'own'}:{SCORE}"
        return f"{version}+{find_task(task).version}"

    def check(self, task: str, setting: Setting) -> None:
        """Refuse unknown options, and prompt files that show two texts."""
        check_options(setting.options, self.options)
        if setting.wording:
            if setting.wording_parser != SCORE:
                raise BadSettings(
                    f"method {self.name} shows one text at a time: it takes prompt files with the parser {SCORE}, "
                    f"not {setting.wording_parser}"
                )
            check_wording(setting.wording, SCORE, version=setting.wording_version, task=task)
        self.prompt_version(task, setting)
