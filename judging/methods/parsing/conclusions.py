"""Verdicts in plain sentences: `My choice is A.`, `Overall, summary A is better.`

They are only used if an answer has no verdict line, and only in its last sentence.
"""

import re
from dataclasses import dataclass
from functools import cached_property

from judging.methods.parsing.answers import (
    CITING,
    MARKUP,
    REASON_WORDS,
    answers_in,
    any_of,
    has_words,
    is_quotation,
)
from judging.methods.parsing.verdict_forms import VerdictForm

_SENTENCE_END = re.compile(r"(?<=[.!?])[*_]*+\s++")
_EDGE = rf"[\s{re.escape(MARKUP)}]*+"
_OPENING = r"(?:(?:therefore|thus|so|hence|overall|in conclusion|in summary|to conclude|finally)\b,?\s*+)?"
_OPINION = r"(?:i\s++(?:think|believe|find|feel|would\s++say)\s++(?:that\s++)?)?"
_REASON = re.compile(
    rf"^(?:[.!]*+$|[,;:(–—]|\s*+(?:{REASON_WORDS}|(?:overall|here|in\s++my\s++opinion)\b))", re.IGNORECASE
)


@dataclass(frozen=True)
class Conclusion:
    """The sentences that name a text, for one question.

    form   : of its verdict line, with the letters on offer and the nouns before them ("summary")
    better : what the question asks for ("better", "more helpful"), never its opposite
    verbs  : verbs of choice ("choose"); "prefer" for the plain question only
    """

    form: VerdictForm
    better: tuple[str, ...]
    verbs: tuple[str, ...]

    def letter_in(self, line: str) -> str | None:
        """Return the letter that the last sentence of a line names, or `None` if doubtful or quoted."""
        if is_quotation(line) or CITING.search(line):
            return None
        sentence = _SENTENCE_END.split(line.strip())[-1]
        if matched := self._named.match(sentence):
            letters = {self.form.letter_in(answer) for answer in answers_in(matched["rest"])}
            return letters.pop() if len(letters) == 1 else None
        matched = self._compared.match(sentence)
        if matched is None:
            return None
        letter, reason = matched["letter"].upper(), matched["reason"]
        if not _REASON.match(reason.strip()) and has_words(reason):
            return None
        return None if self.form.is_doubtful(letter, reason) else letter

    @cached_property
    def _named(self) -> re.Pattern[str]:
        """`My final choice is A`, `I would choose summary A`, `The better summary is A`."""
        edge, better, nouns = _EDGE, any_of(self.better), any_of(self.form.nouns)
        verbs = any_of(self.verbs)
        return re.compile(
            rf"^{edge}{_OPENING}{edge}(?:"
            rf"(?:my|the)\s++(?:final\s++)?(?:choice|answer|verdict|decision|pick)(?:\s++(?:is|would\s++be)\b\s*+:?|{edge}:)"
            rf"|i(?:\s++would|['’]d)?\s++(?:{verbs})\b"
            rf"|the\s++(?:{better})\s++(?:{nouns}|one|text)\s++is\b\s*+:?"
            rf")(?P<rest>.*)$",
            re.IGNORECASE,
        )

    @cached_property
    def _compared(self) -> re.Pattern[str]:
        """`Summary A is better`, `A is better than B`."""
        edge, better, nouns = _EDGE, any_of(self.better), any_of(self.form.nouns)
        return re.compile(
            rf"^{edge}{_OPENING}{_OPINION}{edge}(?:the\s++)?(?:(?:{nouns})\s++)?{edge}(?P<letter>[AB])\b{edge}"
            rf"is\s++(?:the\s++)?(?:{better})\b{edge}"
            rf"(?:\s*+than\s++(?:the\s++)?(?:(?:{nouns}|other)\b\s*+){{0,2}}(?!(?P=letter)\b)[AB]?\b)?"
            rf"(?:\s*+(?:{nouns}|one|choice)\b)?(?P<reason>.*)$",
            re.IGNORECASE,
        )
