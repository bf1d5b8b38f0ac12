"""Verdicts, scores and choices in labelled lines: the last explicit one decides.

Anything doubtful is unparsed, because a wrong vote costs more than a second call.
"""

import re
import string
from dataclasses import dataclass
from functools import cached_property
from itertools import pairwise

from judging.methods.parsing.answers import (
    CITED,
    CODE,
    MARK,
    MARKUP,
    REASON_WORDS,
    FoundVerdict,
    answers_in,
    any_of,
    has_words,
    is_introduction,
    is_mark,
    is_quotation,
    lines_of,
    marked_in,
    no_verdict,
    readable,
)
from judging.methods.parsing.response_parts import QUOTES
from judging.methods.parsing.reversals import TAKEN_BACK, Reversals

REASON_MARK = re.compile(r"[,;:—–]|\.(?!\w)")
MARK_INSIDE = re.compile(r"[.!?][*_)]*+\s++[*_$]*+(?P<rest>(?:\[\[|\\boxed|\[RESULT\]).*)$", re.IGNORECASE)
REASON_LINE = re.compile(r"\W*+(?:reasons?|justification|explanation|because|since)\b", re.IGNORECASE)
COMPARISON_LINE = re.compile(r"\W*+(?:comparison|explanation)\b[^\w:]*+:", re.IGNORECASE)
HEDGE = re.compile(
    r"\b(?:both|neither|tie|equal|equally|or|either|wait|actually|hmm+|maybe|perhaps|possibly|probably|correction|scratch"
    r"|second thoughts?|reconsider\w*)\b|\bno[,.;!]|\bnot (?:really|sure|certain)\b",
    re.IGNORECASE,
)
HEDGED = 3  # letters, at most: words such as "or" beside a number say nothing about it
# A line with which a model goes on behind its turn: another role, or the material of another question.
ROLE_LINE = re.compile(
    r"[\s#*<\[(]*+(?:(?:human|user|assistant|system|instruction|input|q|(?:example|pair|task|case|item)\s?#?\d{1,4})"
    r"\b[\s*\])>]*+(?::|$)|(?:now,? |and |here(?:['’]s| is) |on to |for )?(?:the |a )?(?:next|another|new|second)"
    r" (?:pair|example|question|task|text|case)\b)",
    re.IGNORECASE,
)

# The place of a labelled line, its letter, and its answers, the line that holds them, and the text before.
Labelled = tuple[int, str | None, tuple[list[str], str, str]]


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
        if (verdict := self.find(completion, letter_first=letter_first)) is None:
            raise no_verdict(completion)
        return verdict

    def find(self, completion: str, *, letter_first: bool = False, marks_only: bool = False) -> FoundVerdict | None:
        """Return the same, or `None` if no line is in this form.

        A line that consists of a mark (`MARK`) is labelled; elsewhere one counts at the end of the last line only.
        marks_only : read nothing but marks, wherever they stand in a line
        Raises: UnparsedVerdict if the last such line names no letter on offer, or more than one, or if it is taken back
        """
        reading = LinesInForm(self, completion, letter_first=letter_first, marks_only=marks_only)
        last = reading.last()
        if last is not None and self.is_taken_back(last.letter, last.after or reading.after_lone_letter):
            raise no_verdict(completion)
        return last

    def is_taken_back(self, letter: str, after: str) -> bool:
        """Tell whether the text after a verdict takes it back, or names another letter as the answer.

        after : the rest of the verdict's own line, whose letters `is_doubtful` compares, and the lines after it
        """
        reason, *lines = after.split("\n")
        if re.search(TAKEN_BACK, CITED.sub("", reason)):
            return True
        own = [CITED.sub("", line) for line in lines if not is_quotation(line)]
        # A labelled line among them, or one that is a mark, stands within a sentence: it is cited.
        own = [line for line in own if not (self._label_line.match(line) or (marked_in(line) and is_mark(line)))]
        return any(re.search(TAKEN_BACK, line) or self._reversals.contradict(letter, line) for line in own)

    def answers_at(self, lines: list[str], index: int) -> tuple[list[str], str, str] | None:
        """Return a line's answers, the line that holds them, and the text before, or `None` if it is no labelled line."""
        line, after = lines[index], lines[index + 1 : index + 2]
        last = not after
        if is_quotation(line) or (index and is_introduction(lines[index - 1])):
            return None
        if last and self.unlabelled and self.letter_in(line, alone=True):
            return [line], line, ""
        if after and after[0].lstrip()[:1].islower() and not (REASON_LINE.match(after[0]) or ROLE_LINE.match(after[0])):
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
        own = CITED.sub("", line)
        if last and self.unlabelled and (matched := MARK_INSIDE.search(own)) and is_mark(matched["rest"]):
            return marked_in(matched["rest"]), line, own[: matched.start("rest")]
        return None

    def marks_at(self, lines: list[str], index: int) -> tuple[list[str], str, str] | None:
        """Return the same for a line with marks, wherever they stand."""
        line = lines[index]
        if is_quotation(line) or not (marks := marked_in(line)):
            return None
        own = CITED.sub("", line)
        return marks, line, own[: MARK.search(own).start()]  # type: ignore[union-attr]

    def letter_in(self, answer: str, *, alone: bool = False) -> str | None:
        """Return the single letter on offer that an answer names. `alone`: no reason may follow."""
        if related := self._relation.match(answer):  # `A>B`, `B>>A` or `A=B`, unless asked which one is worse
            first, sign, second = related["first"].upper(), related["sign"][0], related["second"].upper()
            is_clear = first != second and self.better
            return {">": first, "<": second, "=": self.tie or None}[sign] if is_clear else None
        matched = self.answer.match(answer)
        if matched is None:
            return None
        edge, reason, letter = matched["edge"], matched["reason"] or "", matched["letter"].upper()
        letter = letter if letter in self.letters else self.tie
        # A small "a" with words in brackets is an article.
        opened = ("(" in edge and matched["letter"] != "a") or REASON_MARK.match(reason) is not None
        opened = opened or bool(edge[-1:].isspace() and re.match(rf"-|{REASON_WORDS}", reason, re.IGNORECASE))
        if reason and not opened:
            return None
        reason = edge.rpartition("(")[2] + reason
        if self.is_doubtful(letter, reason) or (alone and has_words(reason)):
            return None
        return letter

    def is_doubtful(self, letter: str, reason: str) -> bool:
        """Tell whether a reason contradicts the letter: it names another one, or, for a tie, one side only."""
        letters = set(re.findall(rf"\b(?:{'|'.join(self.letters)})\b", reason))
        letters |= {named.upper() for named in self._named_in_small.findall(reason)}
        letters -= {letter}
        if letter == self.tie:
            return len(letters) == 1
        return bool(letters or (len(self.letters) <= HEDGED and HEDGE.search(reason)))

    def rationale_in(self, lines: list[str]) -> str:
        """Return the rationale in the lines before a verdict, without its label."""
        before = "\n".join(lines)
        if matched := self._label_at_end.search(before):
            before = before[: matched.start()].rstrip(f"{string.whitespace}*_#`-")
        return self._label_of_rationale.sub("", before).strip()

    # Completions are untrusted and may be long: repetitions are possessive (`*+`), and adjacent ones can't match the same
    # character, so that matching takes linear time.

    @cached_property
    def _label_at_end(self) -> re.Pattern[str]:
        """A label of the verdict behind the rationale."""
        return re.compile(rf"\b(?:{any_of(self.labels)})\W*+\Z", re.IGNORECASE)

    @cached_property
    def _label_of_rationale(self) -> re.Pattern[str]:
        """The label before the rationale."""
        return re.compile(rf"\A\W*+{self.opening}[^\w:]*+:\W*+", re.IGNORECASE)

    @cached_property
    def _label_line(self) -> re.Pattern[str]:
        """A line that starts with a label and a colon or arrow. A list dash or Markdown may stand around it."""
        edge = rf"[\s{re.escape(MARKUP)}]*+"
        noun = rf"(?:\s++(?:{any_of(self.nouns)}))?"
        return re.compile(
            rf"^{edge}(?:(?:[-•–—+]|\d{{1,3}}[.)]|step\s\d{{1,2}}[.:)]){edge})?"
            rf"(?:(?:final|second|my|overall|most|corrected|revised|updated)\W++)?(?:{any_of(self.labels)}){noun}"
            rf"(?:[*_ \t]*+\((?:(?:{any_of(self.nouns)})\s)?[{''.join(self.letters)}]\s?(?:or|[/|,])[^()\n]{{0,20}}\))?{edge}(?:[-–—=]?>|[:=→]|[-–—](?=\s))(?P<rest>.*)$",
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
    def answer(self) -> re.Pattern[str]:
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
    def _named_in_small(self) -> re.Pattern[str]:
        """A small letter that a noun tells from the article."""
        return re.compile(
            rf"\b(?:{any_of(self.nouns)})\s([{''.join(self.letters[:2])}])\b".lower() if self.nouns else r"(?!)"
        )

    @cached_property
    def _reversals(self) -> Reversals:
        """Sentences that contradict a verdict. Numbered lines may each have a verdict of their own."""
        return Reversals(self.labels, self.nouns if self.unlabelled else (), self.letters, self.better)

    @cached_property
    def material(self) -> re.Pattern[str]:
        """The heading of a text, as in a prompt."""
        return re.compile(
            rf"^[\s#*\[]*+(?:(?:{any_of(self.nouns)})\s[{''.join(self.letters[:2])}]|text|article|post|source|document|passage|context|question|prompt|query"
            rf"|conversation|dialogue)(?:[\s*]*+:|[\s*]*+\]:?)[\s*]*+$",
            re.IGNORECASE,
        )


class LinesInForm:
    """The lines of an answer in one form, read from the last one on."""

    def __init__(self, form: VerdictForm, completion: str, *, letter_first: bool, marks_only: bool) -> None:
        self.form, self.completion, self.letter_first, self.marks_only = form, completion, letter_first, marks_only
        self.answers_at = form.marks_at if marks_only else form.answers_at
        text = readable(completion)
        self.lines = lines_of(text)
        self.labelled = self._labelled(self.lines)
        outside = lines_of(CODE.sub("", text))
        if len(outside) < len(self.lines) and (labelled := self._labelled(outside)):
            self.lines, self.labelled = outside, labelled  # with a verdict outside, code blocks are quotations
        self._leave_out_beyond()
        self.after_lone_letter = ""

    def last(self) -> FoundVerdict | None:
        """Return the last verdict in the form.

        Raises: UnparsedVerdict
        """
        form, lines = self.form, self.lines
        if self.labelled:
            index, letter, (answers, line, before) = self.labelled[-1]
            if letter is None or self._is_introduced(index, letter):
                raise no_verdict(self.completion)
            matched = form.answer.match(answers[0])
            after = [(matched and matched["reason"]) or "", *lines[index + 1 + (line != lines[index]) :]]
            rationale = form.rationale_in([*lines[:index], before])
            changes = sum(earlier[1] != later[1] for earlier, later in pairwise(self.labelled))
            return FoundVerdict(letter, line, rationale, "\n".join(after), is_repeated=changes > 1)
        for index, remaining in ((-1, lines[:-1]), *(((0, lines[1:]),) if self.letter_first else ())):
            if form.unlabelled and not self.marks_only and lines and (lone := form.letter_in(lines[index], alone=True)):
                self.after_lone_letter = "" if index else "\n".join(["", *remaining])
                return FoundVerdict(lone, lines[index], form.rationale_in(remaining))
        return None

    def _labelled(self, lines: list[str]) -> list[Labelled]:
        """Return the place, the letter (`None` if doubtful) and the parts of each labelled line."""
        labelled = []
        for index in range(len(lines)):
            if (parts := self.answers_at(lines, index)) is not None:
                letters = {self.form.letter_in(answer) for answer in parts[0]}
                labelled.append((index, letters.pop() if len(letters) == 1 else None, parts))
        return labelled

    def _leave_out_beyond(self) -> None:
        """Leave out text in which a model goes on with another turn behind its verdict.

        Raises: UnparsedVerdict if a verdict in that text differs
        """
        first = next((index for index, letter, _ in self.labelled if letter), None)
        if self.letter_first and self.lines and self.form.letter_in(self.lines[0], alone=True):
            first = 0
        if first is None or (end := self._end_of_turn(first)) is None:
            return
        later_letters = {letter for index, letter, _ in self.labelled if index >= end}
        own = self._labelled(self.lines[:end])
        if later_letters - {letter for _, letter, _ in own[-1:]}:
            raise no_verdict(self.completion)
        if not COMPARISON_LINE.match(self.lines[end]):
            self.lines, self.labelled = self.lines[:end], own

    def _end_of_turn(self, first: int) -> int | None:
        """Return the line of the next turn after the first verdict, or `None` where the verdict is taken back before."""
        compared = any(map(COMPARISON_LINE.match, self.lines[:first]))
        for index in range(first + 1, len(self.lines)):
            line = self.lines[index]
            if re.search(TAKEN_BACK, line):
                return None
            if ROLE_LINE.match(line) or self.form.material.match(line) or (compared and COMPARISON_LINE.match(line)):
                return index
        return None

    def _is_introduced(self, index: int, letter: str) -> bool:
        """Tell whether the last verdict follows a line that ends with a colon, and contradicts an earlier one."""
        other_letters = {earlier for _, earlier, _ in self.labelled[:-1] if earlier} - {letter}
        line = self.lines[index - 1].rstrip(f" \t{MARKUP}{QUOTES}") if index else ""
        return bool(other_letters) and line.endswith(":") and not re.search(TAKEN_BACK, line)
