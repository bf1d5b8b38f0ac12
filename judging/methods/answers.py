"""Parsing verdicts from free text, and recognising refusals.

The rule: the last explicit verdict line decides. Anything doubtful is unparsed, because a wrong vote costs more than
a second call.
"""

import re
import string
import unicodedata
from dataclasses import dataclass
from functools import cached_property

from judging.core.errors import UnparsedVerdict

QUOTES = "\"'`“”„‟‘’‚«»‹›「」『』＂＇"
MARKUP = "*_#~|$()[]{}<>\\"
REASON_MARKS = tuple(".,;:—–")
REASON_WORDS = r"(?:because|since|as)\b"
PIECE = 500
# At the start only: later tags are part of the answer. The opening tag may be missing, as when the model's chat template
# contains it.
THINKING = re.compile(
    r"\A\s*+<think(?:ing)?>.*?(?:</think(?:ing)?>|\Z)|\A(?:(?!<think).)*?</think(?:ing)?>", re.IGNORECASE | re.DOTALL
)
CITING = re.compile(r"[\"“”„‟«»‹›「」『』]")  # marks of a citation; an apostrophe is none
FENCED = re.compile(r"^[ \t]*+\[(?P<fence>[0-9a-f]{16}) begin\].*?(?:\[(?P=fence) end\]|\Z)", re.MULTILINE | re.DOTALL)
CODE = re.compile(r"^[ \t]*+```.*?(?:^[ \t]*+```|\Z)", re.MULTILINE | re.DOTALL)
HEDGE = re.compile(r"\b(?:both|neither|tie|equal|equally|or|either)\b", re.IGNORECASE)
REFUSAL = re.compile(
    r"(?:i['’]?m sorry|i am sorry|sorry,|i apologi[sz]e|as an ai\b|unfortunately,? i (?:can|am|['’]?m)"
    r"|i (?:can['’]?t|cannot|can not|won['’]?t|will not|must decline|am unable|am not able|am not comfortable)"
    r"|i['’]m (?:unable|not able|not comfortable))",
    re.IGNORECASE,
)


@dataclass(frozen=True)
class FoundVerdict:
    """The verdict's letter, and the text before it."""

    letter: str
    rationale: str


@dataclass(frozen=True)
class VerdictForm:
    """The answer form that a prompt asks for.

    labels  : what a verdict line starts with, before its colon ("preferred")
    nouns   : what may stand before the letter ("summary")
    letters : what is on offer; anything else is no verdict
    tie     : the letter among them that stands for a tie; then the word "tie" is read as well
    opening : a pattern for the label of the rationale
    """

    labels: tuple[str, ...]
    nouns: tuple[str, ...]
    letters: tuple[str, ...] = ("A", "B")
    tie: str = ""
    opening: str = "(?:comparison|explanation|reasons?)"

    def read(self, completion: str, *, letter_first: bool = False) -> FoundVerdict:
        """Return the verdict of the last verdict line, or of a lone letter at the end.

        letter_first : also accept a letter followed by reasons
        Raises: UnparsedVerdict with the end of the completion.
        """
        if (found := self.find(completion, letter_first=letter_first)) is None:
            raise no_verdict(completion)
        return found

    def find(self, completion: str, *, letter_first: bool = False) -> FoundVerdict | None:
        """Return the same, or `None` if no line is in this form.

        Raises: UnparsedVerdict if the last such line names no letter on offer, or more than one.
        """
        outside = answer_lines(CODE.sub("", completion))
        lines = answer_lines(completion)
        if len(outside) < len(lines) and any(self._answer_at(outside, place) for place in range(len(outside))):
            lines = outside  # with a verdict outside, code blocks are quotations
        for place in range(len(lines) - 1, -1, -1):
            found = self._answer_at(lines, place)
            if found is None:
                continue
            answer, said = found
            letter = self.letter_in(answer)
            if letter is None:
                raise no_verdict(completion)
            return FoundVerdict(letter, self._rationale("\n".join([*lines[:place], said])))
        if letter_first and lines and (letter := self.letter_in(lines[0], alone=True)):
            return FoundVerdict(letter, self._rationale("\n".join(lines[1:])))
        return None

    def _answer_at(self, lines: list[str], place: int) -> tuple[str, str] | None:
        """Return a line's answer and the text before it; `None` if it is no verdict line."""
        line, after = lines[place], lines[place + 1 : place + 2]
        last = not after
        if last and self.letter_in(line, alone=True):
            return line, ""
        if is_quotation(line) or (after and after[0].lstrip()[:1].islower()):
            return None  # a quotation, or the middle of a sentence
        if matched := self._label_line.match(line):
            if has_words(matched["rest"]):
                return matched["rest"], line[: matched.start("rest")]
            return (after[0] if after else ""), line
        if last and (matched := self._label_inside.search(line)):
            return matched["rest"], line[: matched.start("rest")]
        return None

    def letter_in(self, answer: str, *, alone: bool = False) -> str | None:
        """Return the single letter on offer that an answer names; `alone`: no reason may follow."""
        matched = self._answer.match(answer)
        if matched is None:
            return None
        edge, reason, letter = matched["edge"], matched["reason"] or "", matched["letter"].upper()
        letter = letter if letter in self.letters else self.tie
        opened = "(" in edge or reason.startswith(REASON_MARKS)
        opened = opened or bool(edge[-1:].isspace() and re.match(rf"-|{REASON_WORDS}", reason, re.IGNORECASE))
        if reason and not opened:
            return None
        reason = edge.rpartition("(")[2] + reason
        if self.is_doubtful(letter, reason) or (alone and has_words(reason)):
            return None
        return letter

    def is_doubtful(self, letter: str, reason: str) -> bool:
        """Tell whether a reason contradicts the letter: it names another one, or, for a tie, one side only."""
        others = set(re.findall(rf"\b(?:{'|'.join(self.letters)})\b", reason)) - {letter}
        if letter == self.tie:
            return len(others) == 1
        return bool(others or HEDGE.search(reason))

    def _rationale(self, before: str) -> str:
        if matched := self._label_at_end.search(before):
            before = before[: matched.start()].rstrip(f"{string.whitespace}*_#`-")
        return self._opening.sub("", before).strip()

    # Completions are untrusted and may be long: repetitions are possessive (`*+`), and adjacent ones can't match the same
    # character, so that matching takes linear time.

    @cached_property
    def _label_line(self) -> re.Pattern[str]:
        """A line that starts with a label and a colon; a list dash or Markdown may stand around it."""
        edge = rf"[\s{re.escape(MARKUP)}]*+"
        noun = rf"(?:\s++(?:{any_of(self.nouns)}))?"
        return re.compile(
            rf"^\s*+(?:[-•]|\d++[.)])?{edge}(?:(?:final|second)\W++)?(?:{any_of(self.labels)}){noun}{edge}[:=]"
            rf"(?P<rest>.*)$",
            re.IGNORECASE,
        )

    @cached_property
    def _label_inside(self) -> re.Pattern[str]:
        """A label after the end of a sentence, for models that write everything on one line."""
        return re.compile(
            rf"[.!?][*_]*+\s++[*_]*+(?:{any_of(self.labels)})[*_]*+:"
            rf"(?P<rest>(?:[*_\s]*+[^\W_]|[*\s]*+_)[*_\s.]*+)$",
            re.IGNORECASE,
        )

    @cached_property
    def _answer(self) -> re.Pattern[str]:
        """An optional noun, one letter, and an optional rest, which `letter_in` checks."""
        edge = rf"[\s{re.escape(QUOTES + MARKUP)}]*+"
        tie = r"(?:a\s++)?tie|" if self.tie else ""
        return re.compile(
            rf"^{edge}(?i:(?:the\s++)?(?:{any_of(self.nouns)})\s++)?{edge}"
            rf"(?P<letter>(?i:{tie}{'|'.join(self.letters)}))(?P<edge>{edge})(?:[.!]?+{edge}$|(?P<reason>.*)$)"
        )

    @cached_property
    def _label_at_end(self) -> re.Pattern[str]:
        """A label at the end of the text."""
        return re.compile(rf"\b(?:{any_of(self.labels)})\W*+\Z", re.IGNORECASE)

    @cached_property
    def _opening(self) -> re.Pattern[str]:
        """The label of the rationale."""
        return re.compile(rf"\A\W*+{self.opening}[^\w:]*+:\W*+", re.IGNORECASE)


def any_of(words: tuple[str, ...]) -> str:
    """Return a pattern of one of some words or phrases."""
    return "|".join(re.escape(word).replace(r"\ ", r"\s++") for word in words)


def normalized(text: str) -> str:
    """Return a text in NFKC, normalised in pieces, since runs of combining marks take quadratic time."""
    lines = text.splitlines(keepends=True)
    pieces = [line[start : start + PIECE] for line in lines for start in range(0, len(line), PIECE)]
    return "".join(unicodedata.normalize("NFKC", piece) for piece in pieces)


def strip_reasoning(completion: str) -> str:
    """Return an answer normalised, without reasoning at its start and without copied fences."""
    return FENCED.sub("", THINKING.sub("", normalized(completion)))


def answer_lines(completion: str) -> list[str]:
    """Return the lines of an answer that aren't blank or markup only."""
    lines = strip_reasoning(completion).splitlines()
    return [line for line in lines if line.strip(f" \t{QUOTES}{MARKUP}=-")]


def no_verdict(completion: str) -> UnparsedVerdict:
    """Return the error for an answer without a verdict, with the answer's end."""
    return UnparsedVerdict(f"no verdict in: …{completion[-200:]}" if completion.strip() else "an empty answer")


def is_quotation(line: str) -> bool:
    """Tell whether a whole line is a quotation: in quotation marks, or a block quote."""
    bare = line.strip().strip("*_")
    half = bare.count('"') % 2 or bare.count("”") > bare.count("“") or bare.count("»") != bare.count("«")
    return bool(half) or bare.startswith((">", "|")) or (bare[:1] in QUOTES and bare[:1] != "`")


def has_words(text: str) -> bool:
    """Tell whether a text contains more than punctuation."""
    return re.search(r"\w", text.replace("_", "")) is not None


def is_refusal(completion: str) -> bool:
    """Tell whether an answer without a verdict starts like a refusal."""
    text = THINKING.sub("", completion).strip().lstrip(f"{QUOTES}{MARKUP} ")
    return REFUSAL.match(text) is not None
