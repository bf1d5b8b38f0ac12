"""The pointwise judge: each text gets a score by itself (Jeong et al. 2025, figs. 4 and 9; Liu et al. 2023)."""

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
from judging.methods.parsers import VERSION
from judging.methods.prompted import WITH_LOGPROBS
from judging.methods.prompts import load_prompt
from judging.methods.scores import read_score, weighted_score
from judging.methods.task_files import find_task, words_for


@register
class Pointwise(AskingMethod):
    """Scores each text from 1 to 5, once for all its pairs; the higher one is preferred, equal scores are a tie.

    The negated question asks how bad a text is: then the lower one is preferred.
    weighted : take the mean of the scores, weighted by their probabilities, where the endpoint gives these
    """

    name = "pointwise"
    prompt = "pointwise.v1.txt"
    parser_version = VERSION
    options: ClassVar[Mapping[str, Any]] = {"weighted": True, "tie_below": 0}

    def ask(self, shown: Presentation, setting: Setting) -> Procedure:
        """Ask for the scores of both texts."""
        first, second = yield [self.score_call(shown, text, setting) for text in (shown.first, shown.second)]
        verdict = Verdict((second > first) - (second < first))
        found = Outcome(
            Verdict(-verdict) if shown.negated else verdict, score_first=float(first), score_second=float(second)
        )
        return with_ties(found, setting)

    def score_call(self, shown: Presentation, text: str, setting: Setting) -> Call:
        """Return the call about one text, which depends on that text and its source only."""
        content = load_prompt(self.prompt, setting).render(words_for(shown), {"source": shown.source, "text": text})
        weighted = bool(setting.options.get("weighted", self.options["weighted"]))

        def read(reply: Reply) -> float:
            scored = read_score(reply.text)
            return weighted_score(reply, scored) if weighted else float(scored.letter)

        params = WITH_LOGPROBS if weighted else {}
        return Call("score", [{"role": "user", "content": content}], read, params, reusable=True)

    def prompt_version(self, task: str, setting: Setting) -> str:
        """Return the versions of both files."""
        return f"{load_prompt(self.prompt, setting).version}+{find_task(task).version}"

    def check(self, task: str, setting: Setting) -> None:
        """Refuse unknown options, and prompt files, which show two texts."""
        check_options(setting.options, self.options)
        if setting.wording:
            raise BadSettings(f"method {self.name} takes no prompt file: it shows one text at a time")
        self.prompt_version(task, setting)
