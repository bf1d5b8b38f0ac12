"""Small judging methods of the tests' own: procedures in every shape that the engine has to drive."""

from collections.abc import Callable
from typing import Any

from analysis.types import Verdict
from judging.core.errors import UnparsedVerdict
from judging.methods import AskingMethod, Call, Outcome, Presentation, Procedure, Reply, Setting

LETTERS = {"A": Verdict.A, "B": Verdict.B, "C": Verdict.TIE}


def letter(reply: Reply) -> Verdict:
    if reply.text not in LETTERS:
        raise UnparsedVerdict(f"no letter in {reply.text!r}")
    return LETTERS[reply.text]


def note(reply: Reply) -> str:
    if not reply.text.startswith("*"):
        raise UnparsedVerdict(f"no note in {reply.text!r}")
    return reply.text


def question(kind: str, text: str, read: Callable[[Reply], Any], **settings: Any) -> Call:
    """Return a call whose only message is `kind: text`."""
    return Call(kind, [{"role": "user", "content": f"{kind}: {text}"}], read, **settings)


class Noted(AskingMethod):
    """Has a note made on each text alone, reusable, and asks for the verdict with both notes."""

    name = "noted"
    parser_version = "noted.1"

    def prompt_version(self, task: str, setting: Setting) -> str:
        return "noted.v1"

    def ask(self, shown: Presentation, setting: Setting) -> Procedure:
        notes = yield [question("critique", text, note, reusable=True) for text in (shown.first, shown.second)]
        asked = f"{shown.first} {shown.second} {notes}"
        [verdict] = yield [question("verdict", f"worse? {asked}" if shown.negated else asked, letter)]
        return Outcome(Verdict(-verdict) if shown.negated else verdict, rationale=" ".join(notes))


class Polled(AskingMethod):
    """Asks the same question three times and takes the majority of the answers that can be read."""

    name = "polled"
    parser_version = "polled.1"

    def prompt_version(self, task: str, setting: Setting) -> str:
        return "polled.v1"

    def ask(self, shown: Presentation, setting: Setting) -> Procedure:
        asked = f"{shown.first} {shown.second}"
        votes = yield [question("verdict", asked, letter, draw=draw, optional=True) for draw in range(3)]
        counted = [int(vote) for vote in votes if vote is not None]
        if not counted:
            raise UnparsedVerdict("nobody voted")
        return Outcome(Verdict(max(-1, min(1, sum(counted)))), p_second=0.25, score_first=2.0, score_second=3.0)
