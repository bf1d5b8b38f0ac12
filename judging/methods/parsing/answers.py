"""The answer within a response as lines, with marks, quotations and refusals recognised."""

import re
from dataclasses import dataclass
from functools import lru_cache

from annotation.core.reasons import reason
from judging.core.errors import UnparsedVerdict
from judging.methods.base import Reply
from judging.methods.parsing.plain_lines import has_open_element, normalized, plain_lines, without_struck
from judging.methods.parsing.response_parts import QUOTES, ResponseParts, split_response

MARKUP = "*_#~|$()[]{}<>\\"
REASON_WORDS = r"(?:because|since|as)\b"
CITING = re.compile(r"[\"“”„‟«»‹›「」『』]")  # marks of a citation; an apostrophe is none
# An opening mark ends where the next one opens, or each would be followed to the end of the line.
CITED = re.compile(r"\"[^\"]*+\"|“[^“”]*+”|„[^„“”]*+[“”]|«[^«»]*+»")
# Answers that mark themselves, in the forms of MT-Bench and Arena-Hard, of mathematics, and of Prometheus.
MARK = re.compile(
    r"\[\[(?P<bracketed>[^][]{1,40})\]\]|\\boxed\s?\{\{?(?P<boxed>[^{}]{1,40})\}{1,2}|\[RESULT\](?P<result>.{1,40})$",
    re.IGNORECASE,
)
FENCED = re.compile(r"^[ \t]*+\[(?P<fence>[0-9a-f]{16}) begin\].*?(?:\[(?P=fence) end\]|\Z)", re.MULTILINE | re.DOTALL)
CODE = re.compile(r"^[ \t]*+```.*?(?:^[ \t]*+```|\Z)", re.MULTILINE | re.DOTALL)
# A line after which another text is cited.
CITES = re.compile(
    r"\b(?:says?|contains?|reads?|writes?|ends?|ending|states?|claims?|includes?|quot\w+|tells?|asks?|demands?|instructs?|inject\w*"
    r"|appends?|inserts?|adds?|line|words|instruction)\b",
    re.IGNORECASE,
)
REFUSAL = re.compile(
    r"(?:i['’]?m sorry|i am sorry|sorry,|i apologi[sz]e|as an ai\b|unfortunately,? i (?:can|am|['’]?m)"
    r"|i (?:can['’]?t|cannot|can not|won['’]?t|will not|must decline|am unable|am not able|am not comfortable)"
    r"|i['’]m (?:unable|not able|not comfortable))",
    re.IGNORECASE,
)
# Beginnings of thoughts without any mark, as of a model whose chat template opens them.
ALOUD = re.compile(
    r"\W*+(?:thinking|thoughts?|scratch ?pad|drafts?|brainstorm|ok(?:ay)?\b|alright|hmm|so\b,?|first\b,?|we (?:need|have|are|should)"
    r"|i (?:need|have) to|let(?:['’]s| me| us)\b|the user)",
    re.IGNORECASE,
)
RECENT = 8  # answers whose parts are remembered, since a reader may look at them several times
CITING_TAIL = 200  # characters at a line's end that are searched for a word that cites


@dataclass(frozen=True)
class FoundVerdict:
    """The letter that an answer names, its line, and the text before and after it.

    is_repeated : the answer names one letter, another one, and the first one again
    """

    letter: str
    line: str
    rationale: str
    after: str = ""
    is_repeated: bool = False


def any_of(words: tuple[str, ...]) -> str:
    """Return a pattern of one of some words or phrases."""
    return "|".join(re.escape(word).replace(r"\ ", r"\s++") for word in words)


@lru_cache(maxsize=RECENT)
def parts_of(completion: str) -> ResponseParts:
    """Return the parts of a normalised response.

    Raises: UnparsedVerdict if it ends within thoughts
    """
    parts = split_response(without_struck(normalized(completion)))
    if parts.is_thinking:
        raise UnparsedVerdict(reason("thoughts_alone_in", text=completion[-200:]))
    return parts


def visible_answer(completion: str) -> str:
    """Return the answer within a response, normalised, without copied fences.

    Raises: UnparsedVerdict if there are thoughts only
    """
    return FENCED.sub("", parts_of(completion).answer)


@lru_cache(maxsize=RECENT)
def readable(completion: str) -> str:
    """Return the same in plain lines, without markup.

    Raises: UnparsedVerdict if there are thoughts only
    """
    answer = plain_lines(visible_answer(completion))
    bare = answer.strip()
    is_quoted = len(bare) > 2 and bare[0] in '"“' and bare[-1] in '"”' and not CITING.search(bare[1:-1])
    return bare[1:-1] if is_quoted else answer


def lines_of(text: str) -> list[str]:
    """Return the lines of a text that aren't blank or markup only."""
    return [line for line in text.splitlines() if line.strip(f" \t{QUOTES}{MARKUP}=-")]


def answer_lines(completion: str) -> list[str]:
    """Return the lines of the answer within a response.

    Raises: UnparsedVerdict if there are thoughts only
    """
    return lines_of(readable(completion))


def is_cut(reply: Reply) -> bool:
    """Tell whether the length limit ended the answer before the model ended its turn."""
    return reply.is_cut_off and not parts_of(reply.text).is_closed


def whole(verdict: FoundVerdict, reply: Reply) -> FoundVerdict:
    """Return a verdict, unless the length limit ended the answer where more was to follow.

    Words behind the verdict may lead to another one. The end of the line too: `Preferred: A` may be half of
    `Preferred: A tie`, and `Score: 4` of `Score: 4.5`. A lone letter stays what it is: to a limit of one token there is
    no other.
    Raises: UnparsedVerdict
    """
    if not is_cut(reply):
        return verdict
    answer = visible_answer(reply.text)
    has_open_block = sum(line.lstrip().startswith("```") for line in answer.splitlines()) % 2 == 1
    if verdict.is_repeated or has_open_element(answer) or ALOUD.match(answer) or has_open_block:
        raise no_verdict(reply.text)
    before, _, last = readable(reply.text).rstrip(" ").rpartition("\n")
    ends = last == verdict.line.rstrip(" ") and last.upper().endswith(verdict.letter.upper())
    is_lone = not before.strip() and ":" not in last
    if has_words(verdict.after) or (ends and not is_lone):
        raise no_verdict(reply.text)
    return verdict


def refuse_cut(reply: Reply, after: str) -> None:
    """Refuse an answer that the length limit ended within the words after its verdict.

    Raises: UnparsedVerdict
    """
    if has_words(after) and is_cut(reply):
        raise no_verdict(reply.text)


def no_verdict(completion: str) -> UnparsedVerdict:
    """Return the error for an answer without a verdict, with the answer's end."""
    why = reason("no_verdict_in", text=completion[-200:]) if completion.strip() else reason("answer_empty")
    return UnparsedVerdict(why)


def marked_in(line: str) -> list[str]:
    """Return the answers that are marked as such in a line, without those that it cites."""
    own = CITED.sub("", line)
    marks = (match for match in MARK.finditer(own) if not match.start() or own[match.start() - 1] not in QUOTES)
    return [match[match.lastgroup or 0] for match in marks]


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


def is_introduction(line: str) -> bool:
    """Tell whether a line says that the next one is cited: `Summary A contains:`."""
    end = line.rstrip(f" \t{MARKUP}{QUOTES}")[-CITING_TAIL:]
    return end.endswith(":") and CITES.search(end) is not None


def has_words(text: str) -> bool:
    """Tell whether a text contains more than punctuation."""
    return re.search(r"\w", text.replace("_", "")) is not None


def is_refusal(completion: str) -> bool:
    """Tell whether an answer without a verdict starts like a refusal."""
    text = split_response(completion).answer.strip().lstrip(f"{QUOTES}{MARKUP} ")
    return REFUSAL.match(text) is not None
