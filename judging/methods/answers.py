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
from judging.methods.base import Reply

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
CITED = re.compile(r"\"[^\"]*+\"|“[^”]*+”|„[^“”]*+[“”]|«[^»]*+»")
# Answers that mark themselves, in the forms of MT-Bench and Arena-Hard, of mathematics, and of Prometheus.
MARK = re.compile(
    r"\[\[(?P<bracketed>[^][]{1,40})\]\]|\\boxed\s?\{(?:\\(?:text|math)(?:bf|rm)?\{)?(?P<boxed>[^{}]{1,40})\}{1,2}|\[RESULT\](?P<result>.{1,40})$",
    re.IGNORECASE,
)
MARK_INSIDE = re.compile(r"[.!?][*_)]*+\s++[*_$]*+(?P<rest>(?:\[\[|\\boxed|\[RESULT\]).*)$", re.IGNORECASE)
REASON_LINE = re.compile(r"\W*+(?:reasons?|justification|explanation|because|since)\b", re.IGNORECASE)
FENCED = re.compile(r"^[ \t]*+\[(?P<fence>[0-9a-f]{16}) begin\].*?(?:\[(?P=fence) end\]|\Z)", re.MULTILINE | re.DOTALL)
CODE = re.compile(r"^[ \t]*+```.*?(?:^[ \t]*+```|\Z)", re.MULTILINE | re.DOTALL)
HEDGE = re.compile(r"\b(?:both|neither|tie|equal|equally|or|either|wait)\b|\bno[,.;!]", re.IGNORECASE)
HEDGED = 3  # letters, at most: words such as "or" beside a number say nothing about it
REFUSAL = re.compile(
    r"(?:i['’]?m sorry|i am sorry|sorry,|i apologi[sz]e|as an ai\b|unfortunately,? i (?:can|am|['’]?m)"
    r"|i (?:can['’]?t|cannot|can not|won['’]?t|will not|must decline|am unable|am not able|am not comfortable)"
    r"|i['’]m (?:unable|not able|not comfortable))",
    re.IGNORECASE,
)


@dataclass(frozen=True)
class FoundVerdict:
    """The letter that an answer names, its line, and the text before and after it."""

    letter: str
    line: str
    rationale: str
    after: str = ""


@dataclass(frozen=True)
class VerdictForm:
    """The form of a labelled answer: a verdict, a score, the choice of a table.

    labels  : what the answer's line starts with, before its colon ("preferred")
    nouns   : what may stand before the letter ("summary")
    letters : what is on offer, letters or numbers; anything else is no answer
    tie     : the letter among them that stands for a tie; then the word "tie" is read as well
    better  : the letter is the better one, so that `A>B` names it
    scale   : what may follow a number, as in `4/5`, a pattern
    opening : a pattern for the label of the rationale
    unlabelled : a lone letter, and a mark such as `[[A]]`, is an answer too
    """

    labels: tuple[str, ...]
    nouns: tuple[str, ...] = ()
    letters: tuple[str, ...] = ("A", "B")
    tie: str = ""
    better: bool = True
    scale: str = ""
    opening: str = "(?:comparison|explanation|reasons?)"
    unlabelled: bool = True

    def read(self, completion: str, *, letter_first: bool = False) -> FoundVerdict:
        """Return the answer of the last labelled line, or of a lone letter at the end.

        letter_first : also accept a letter followed by reasons
        Raises: UnparsedVerdict with the end of the completion.
        """
        if (found := self.find(completion, letter_first=letter_first)) is None:
            raise no_verdict(completion)
        return found

    def find(self, completion: str, *, letter_first: bool = False, marks_only: bool = False) -> FoundVerdict | None:
        """Return the same, or `None` if no line is in this form.

        A line that consists of a mark (`MARK`) is labelled; elsewhere one counts at the end of the last line only.
        marks_only : read nothing but marks, wherever they stand in a line
        Raises: UnparsedVerdict if the last such line names no letter on offer, or more than one.
        """
        answers_at = self._marks_at if marks_only else self._answers_at
        outside = answer_lines(CODE.sub("", completion))
        lines = answer_lines(completion)
        if len(outside) < len(lines) and any(answers_at(outside, place) for place in range(len(outside))):
            lines = outside  # with a verdict outside, code blocks are quotations
        for place in range(len(lines) - 1, -1, -1):
            if (found := answers_at(lines, place)) is None:
                continue
            answers, line, before = found
            letters = {self.letter_in(answer) for answer in answers}
            if len(letters) > 1 or (letter := letters.pop()) is None:
                raise no_verdict(completion)
            matched = self._answer.match(answers[0])
            after = [(matched and matched["reason"]) or "", *lines[place + 1 + (line != lines[place]) :]]
            return FoundVerdict(letter, line, self._rationale([*lines[:place], before]), "\n".join(after))
        for place, others in ((-1, lines[:-1]), *(((0, lines[1:]),) if letter_first else ())):
            if self.unlabelled and not marks_only and lines and (letter := self.letter_in(lines[place], alone=True)):
                return FoundVerdict(letter, lines[place], self._rationale(others))
        return None

    def _answers_at(self, lines: list[str], place: int) -> tuple[list[str], str, str] | None:
        """Return a line's answers, the line that holds them, and the text before; `None` if it is no labelled line."""
        line, after = lines[place], lines[place + 1 : place + 2]
        last = not after
        if is_quotation(line):
            return None
        if last and self.unlabelled and self.letter_in(line, alone=True):
            return [line], line, ""
        if after and after[0].lstrip()[:1].islower() and not REASON_LINE.match(after[0]):
            return None  # the middle of a sentence
        if matched := self._label_line.match(line):
            if has_words(matched["rest"]):
                return answers_in(matched["rest"]), line, line[: matched.start("rest")]
            answer = after[0] if after else ""
            return answers_in(answer), answer, line
        if self.unlabelled and (marks := marked_in(line)) and is_mark(line):
            return marks, line, ""
        if last and (matched := self._label_inside.search(line)):
            return [matched["rest"]], line, line[: matched.start("rest")]
        if (
            last
            and self.unlabelled
            and (matched := MARK_INSIDE.search(own := CITED.sub("", line)))
            and is_mark(matched["rest"])
        ):
            return marked_in(matched["rest"]), line, own[: matched.start("rest")]
        return None

    def _marks_at(self, lines: list[str], place: int) -> tuple[list[str], str, str] | None:
        """Return the same for a line with marks, wherever they stand."""
        line = lines[place]
        if is_quotation(line) or not (marks := marked_in(line)):
            return None
        own = CITED.sub("", line)
        return marks, line, own[: MARK.search(own).start()]  # type: ignore[union-attr]

    def letter_in(self, answer: str, *, alone: bool = False) -> str | None:
        """Return the single letter on offer that an answer names; `alone`: no reason may follow."""
        if related := self._relation.match(answer):
            return self._letter_of(related)
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

    def _letter_of(self, related: re.Match[str]) -> str | None:
        """Return the letter of `A>B`, `B>>A` or `A=B`; `None` where the question is which one is worse."""
        first, sign, second = related["first"].upper(), related["sign"][0], related["second"].upper()
        if first == second or not self.better:
            return None
        return {">": first, "<": second, "=": self.tie or None}[sign]

    def is_doubtful(self, letter: str, reason: str) -> bool:
        """Tell whether a reason contradicts the letter: it names another one, or, for a tie, one side only."""
        others = set(re.findall(rf"\b(?:{'|'.join(self.letters)})\b", reason)) - {letter}
        if letter == self.tie:
            return len(others) == 1
        return bool(others or (len(self.letters) <= HEDGED and HEDGE.search(reason)))

    def _rationale(self, lines: list[str]) -> str:
        before = "\n".join(lines)
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
            rf"(?P<letter>(?i:{tie}{'|'.join(self.letters)}))(?![.,]\d)(?P<edge>{edge})"
            rf"{f'(?:{self.scale}{edge})?+' if self.scale else ''}(?:[.!]?+{edge}$|(?P<reason>.*)$)"
        )

    @cached_property
    def _relation(self) -> re.Pattern[str]:
        """Two letters with their relation, and nothing else."""
        edge = rf"[\s{re.escape(QUOTES + MARKUP.translate({ord(sign): None for sign in '<>'}))}]*+"
        noun, letter = rf"(?:(?:{any_of(self.nouns)})\s++)?", "|".join(self.letters[:2])
        return re.compile(
            rf"^{edge}{noun}(?P<first>{letter})\s*+(?P<sign>>{{1,2}}|<{{1,2}}|={{1,2}})\s*+{noun}(?P<second>{letter}){edge}[.!]?+{edge}$",
            re.IGNORECASE,
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


def whole(found: FoundVerdict, reply: Reply) -> FoundVerdict:
    """Return a verdict, unless the length limit ended the answer right behind its letter, in the middle of a line.

    What was to follow may say otherwise: `Preferred: A` may be half of `Preferred: A tie`, and `Score: 4` of `Score: 4.5`.
    An answer of one line stays what it is: to a limit of one token there is no other.
    Raises: UnparsedVerdict
    """
    before, _, last = reply.text.rstrip(" ").rpartition("\n")
    ends = last == found.line.rstrip(" ") and last.upper().endswith(found.letter.upper())
    if reply.is_cut_off and before.strip() and ends:
        raise no_verdict(reply.text)
    return found


def no_verdict(completion: str) -> UnparsedVerdict:
    """Return the error for an answer without a verdict, with the answer's end."""
    return UnparsedVerdict(f"no verdict in: …{completion[-200:]}" if completion.strip() else "an empty answer")


def marked_in(line: str) -> list[str]:
    """Return the answers that are marked as such in a line, without those that it cites."""
    own = CITED.sub("", line)
    found = (match for match in MARK.finditer(own) if not match.start() or own[match.start() - 1] not in QUOTES)
    return [match[match.lastgroup or 0] for match in found]


def is_mark(line: str) -> bool:
    """Tell whether a line consists of marked answers and markup only."""
    return not has_words(MARK.sub("", line))


def answers_in(text: str) -> list[str]:
    """Return the marked answers of a text that consists of them, else the text."""
    return (is_mark(text) and marked_in(text)) or [text]


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
