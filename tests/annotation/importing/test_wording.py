"""Everything that reading a file may say has a phrase, so that pages say it in the reader's language."""

import ast
import re
from collections.abc import Iterator
from pathlib import Path

import pytest
from django.utils import translation

from annotation.importing.wording import bad_lines_of, outcome_of
from annotation.models import Upload

ROOT = Path(__file__).resolve().parents[3]
ROOMS = ("annotation/importing", "annotation/core/files", "judging/importing", "reporting/bundle")
OTHERS = {"phrases.py", "forms.py", "example.py"}  # whose texts are looked up where they stand
UNWORDED = {
    "MTurk: a command's option": "{} is to be read from column {!r}, which must hold {{j}}, the pair's number",
    "stored with a rating": "rejected on MTurk",
    "stored with a judgment": "no verdict in the file that it was read from",
    "stored with a flag": "not submitted",
    "below the refusal of a bundle's numbers": ("\n  and 7 more", "7: stated 7, found 7"),
    "SQL": (
        *("7 = one.column7", "one.column2 AND 7", "(SELECT 7 FROM 7 AS staged WHERE staged.id = one.column1)"),
        "UPDATE 7 SET 7 FROM (VALUES 7) AS one WHERE 7.id = 7",
    ),
    "values of files": ("tie (bothbad)", "check: gold", "check: repeat"),
}
STAYING = {"instance_id", "table_id", "id", "study.json:", "pip install"}  # names, a command
SAMPLES = {"problem": "is empty", "unread": ""}  # of values that are texts themselves; others may be any number
TWO_WORDS = re.compile(r"(?=\b([a-z]+ [a-z]+)\b)")
NOT_TOLD = {"compile", "info", "_"}  # patterns, the log, and what is looked up at once
# What a part of a text stands in.
FRAMES = (
    *("{}", "f: {}", "f: 7 {} added", "f: {} added", "f: 7 added{}"),
    *(
        "x {}",
        "{} is empty",
        "x is {}, not text",
        "x is 7, not {}",
        "x is 7; it must be {}",
        "x has a message whose {}",
    ),
    *("the file holds no {}", "the file holds more than 7 {}: x", "the file holds more than 7 x: {}"),
    *("not valid JSON: {}", "not valid CSV: 7{}", "x unpacks to more than {}", "rater 7 is {} in the study, 7 here"),
    *("instance 7 is in the study already with other {}", "there is no {}: 7", "there is no instance 7{}: 7"),
    *("7 has another label here ({}) than in the file (7)", "{} of the study can be meant by subset 7: 7"),
    *("no data set of the study can be meant by subset 7: {}", "judge 7 is stored with {}, for 7 in order 7"),
    *("x is 7, which 7 does not ask for: set {}, or leave it empty", "x: x: {}"),
    *("7 of x differ from what follows {}:\n7", "7 instances added\nnotice: {}"),
    "{} 'a' differs from 'A' by case or blanks only; write both alike",
)


def told(tree: ast.AST) -> Iterator[tuple[str, list[str]]]:
    """Yield each text of several words, and what a file holds: values filled in, with the words that it has of its own."""
    skipped: set[ast.AST] = set()
    for node in ast.walk(tree):
        called = node.func if isinstance(node, ast.Call) else None
        if isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant):
            skipped.add(node.value)  # a docstring
        elif getattr(called, "attr", getattr(called, "id", "")) in NOT_TOLD:
            skipped.update(ast.walk(node))
        elif kind := getattr(node, "returns", None) or getattr(node, "annotation", None):
            skipped.update(ast.walk(kind))
        elif isinstance(node, ast.keyword) and node.arg == "what" and isinstance(node.value, ast.Constant):
            yield str(node.value.value), [str(node.value.value)]
        elif isinstance(node, ast.JoinedStr | ast.Constant) and node not in skipped:
            parts = node.values if isinstance(node, ast.JoinedStr) else [node]
            skipped.update(part for part in parts if isinstance(part, ast.Constant))
            own = [part.value for part in parts if isinstance(part, ast.Constant) and isinstance(part.value, str)]
            if " " in "".join(own).strip() and re.search("[a-z]{2}", "".join(own)):
                yield "".join(map(sample, parts)), own


def sample(part: ast.expr) -> str:
    """Return a part of a text, or what stands for a value."""
    if isinstance(part, ast.Constant):
        return str(part.value)
    value = part.value if isinstance(part, ast.FormattedValue) else None
    return SAMPLES.get(value.id, "7") if isinstance(value, ast.Name) else "7"


def has_phrase(text: str, own: list[str]) -> bool:
    """Tell whether German says a text, alone or in another one, without its English words."""
    words = [one for one in own if re.search("[a-z]{2}", one) and one.strip() not in STAYING]
    pairs = {two for one in own for two in TWO_WORDS.findall(one)} - STAYING  # a part of a text may be said alone
    with translation.override("de"):
        for frame in FRAMES:
            stored = frame.format(text)
            upload = Upload(names=["f"], status=Upload.Status.DONE, message=stored, bad_lines=[[1, stored]])
            for said in (outcome_of(upload), bad_lines_of(upload, 1)[0][1]):
                if all(one not in said for one in words) and pairs.isdisjoint(TWO_WORDS.findall(said)):
                    return True
    return False


def without_phrase(source: str) -> list[str]:
    known = {one for texts in UNWORDED.values() for one in ([texts] if isinstance(texts, str) else texts)}
    return [text for text, own in told(ast.parse(source)) if text not in known and not has_phrase(text, own)]


@pytest.mark.slow
@pytest.mark.parametrize("room", ROOMS)
def test_all_that_a_reader_says_has_a_phrase(room: str) -> None:
    files = [file for file in sorted((ROOT / room).rglob("*.py")) if file.name not in OTHERS]
    assert {file.name: found for file in files if (found := without_phrase(file.read_text(encoding="utf-8")))} == {}


@pytest.mark.parametrize(
    ("stored", "said"),
    [
        ("f.zip holds '../x', which leads out of its folder", "f.zip enthält '../x', was aus dem Ordner hinausführt"),
        (
            "f: the file is no longer there, or on another machine's disk; please send it again",
            "f: Die Datei ist nicht mehr vorhanden, oder auf der Platte einer anderen Maschine; bitte senden Sie sie noch einmal",
        ),
        ("a.json can't be read: No such file", "a.json kann nicht gelesen werden: No such file"),
        ("f: 1,000 bad lines, and reading stopped there; nothing was stored",
         "f: 1.000 fehlerhafte Zeilen, und dort wurde das Lesen abgebrochen; nichts wurde gespeichert"),
    ],
)  # fmt: skip
def test_why_a_file_was_refused_is_said_in_german(stored: str, said: str) -> None:
    with translation.override("de"):
        assert outcome_of(Upload(names=["f"], message=stored)) == said


@pytest.mark.parametrize(
    ("reason", "said"),
    [
        ("a.jsonl: text 3 of system 'x: y' is empty", "a.jsonl: Text 3 des Systems 'x: y' ist leer"),
        ("in/b.json: the file holds no votes", "in/b.json: die Datei enthält keine Stimmen"),
        ("row 2: only_a is a list, not text", "Zeile 2: only_a ist eine Liste, kein Text"),
        ("verdict is 'x'; it must be a, tie, b or empty", "verdict ist 'x'; erlaubt: a, tie, b oder leer"),
        ("chosen has a message whose content is empty", "chosen hat eine fehlerhafte Nachricht: content ist leer"),
        (
            "the file holds more than 50,000 rows: split it, or read it with manage.py import_study, which takes 2,000,000",
            "die Datei enthält mehr als 50.000 Zeilen: teilen Sie sie auf, oder lesen Sie sie mit manage.py import_study ein, "
            "das 2.000.000 annimmt",
        ),
        (
            "judge j is stored with verdict a, not b, for instance 'i', pair 0 in order ab",
            "der Judge j ist mit dem Urteil a statt b gespeichert, für Instanz 'i', Paar 0, Reihenfolge ab",
        ),
        ("not valid JSON: Expecting value at column 1", "kein gültiges JSON: ein Wert wird erwartet, in Spalte 1"),
        ("a text without a phrase", "a text without a phrase"),
        (f"column {'x' * 400} is missing", f"column {'x' * 400} is missing"),
    ],
)
def test_what_is_wrong_with_a_line_is_said_in_german(reason: str, said: str) -> None:
    with translation.override("de"):
        assert bad_lines_of(Upload(names=["a.jsonl", "b.json"], bad_lines=[[1, reason]]), 1) == [(1, said)]


def test_a_text_without_a_phrase_is_found() -> None:
    source = 'def f(x): return [BadLine(1, f"{x} is missing"), BadLine(1, f"the file {x} is good or bad")]'
    assert without_phrase(source) == ["the file 7 is good or bad"]
