"""A study's verdicts in the forms of other tools: AlpacaEval's annotations and leaderboard, Arena battles, Label Studio's tasks.

Each has what its importer needs to make the same pairs and verdicts of it.
"""

import json
import math
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime
from itertools import islice
from pathlib import Path
from typing import Any
from xml.sax.saxutils import quoteattr

import numpy as np

from analysis.agreement.coefficients import majority_of_counts
from annotation.core.conversations import Transcript, as_messages, raw_content, stored_content
from annotation.importing.formats.arena import SOURCE_MESSAGES
from annotation.models import Generation, Instance, Study
from annotation.studies.questions import find_question, named_questions
from judging.outcomes.judgment_rows import judgment_rows
from reporting.exports.files import replacing, write_rows
from reporting.exports.rows import rating_rows

CHUNK = 500
PEOPLE, JUDGE = "people", "judge:"
EACH, MAJORITY = "each", "majority"
TIES, EQUAL, EMPTY, DUPLICATES = "ties", "equal", "empty", "duplicates"
WORDS = {"a": ("model_a", "model_b"), "b": ("model_b", "model_a")}
Json = dict[str, Any]


@dataclass(frozen=True)
class WantedVerdicts:
    """The verdicts to write. Raters are `people` and `judge:NAME`, systems two or none for all.

    votes   : EACH verdict, or the MAJORITY of all raters on a pair, where one verdict has more votes than each other
    without : TIES, pairs of EQUAL texts, those with an EMPTY text, DUPLICATES of an earlier row's texts and verdict
    """

    raters: Sequence[str] = (PEOPLE,)
    dataset: str = ""
    question: str = ""
    stage: str = "first"
    systems: Sequence[str] = ()
    votes: str = EACH
    without: Sequence[str] = ()


@dataclass
class RowFilter:
    """The rows that `WantedVerdicts.without` leaves."""

    without: Sequence[str]
    _written: set[int] = field(default_factory=set)

    def keeps(self, *, better: str, worse: str, is_tie: bool = False, other: object = None) -> bool:
        """Tell whether a row is written. `other` is what tells rows of the same texts and verdict apart, such as their source."""
        is_left_out = {
            TIES: is_tie,
            EQUAL: better == worse,
            EMPTY: not better.strip() or not worse.strip(),
        }
        if any(is_left_out.get(name) for name in self.without):
            return False
        if DUPLICATES in self.without:
            texts = frozenset((better, worse)) if is_tie else (better, worse)
            row = hash((texts, other))
            if row in self._written:
                return False
            self._written.add(row)
        return True


@dataclass(frozen=True, slots=True)
class Said:
    """One verdict in study order. `first` is the system whose text was shown first: a or b."""

    instance_id: str
    dataset: str
    index: int
    systems: tuple[str, str]
    generations: tuple[int, int]
    rater: str
    by_judge: bool
    verdict: int | None
    first: str
    repeat: int
    tie_kind: str
    rated_at: str | None
    p_b: float | None

    @property
    def place(self) -> Json:
        """The fields by which the importer identifies the pair."""
        return {
            "instance_id": self.instance_id,
            "dataset": self.dataset,
            "pair_index": self.index,
            "system_a": self.systems[0],
        }


@dataclass(frozen=True, slots=True)
class Texts:
    """The source of a pair, and its texts in study order."""

    source: str
    a: str
    b: str


def verdicts(study: Study, selection: WantedVerdicts) -> Iterator[Said]:
    """Yield people's counted ratings and judges' presentations, without those of negated questions, or their majorities."""
    each = _each_verdict(study, selection)
    return _majorities(each) if selection.votes == MAJORITY else each


def _each_verdict(study: Study, selection: WantedVerdicts) -> Iterator[Said]:
    key = find_question(study, selection.question).key if named_questions(study) else None
    if PEOPLE in selection.raters:
        for row in rating_rows(study):
            if not row["excluded"] and row["stage"] == selection.stage and row.get("question", key) == key:
                yield from _said(row, selection, row["rater"], row["rating"], row["shown_first"] or "a", by_judge=False)
    judges = {name.removeprefix(JUDGE) for name in selection.raters if name.startswith(JUDGE)}
    for row in judgment_rows(study) if judges else ():
        if row["judge"] in judges and not row["negated"] and row.get("question", key) == key:
            first = "b" if row["order"] == "ba" else "a"
            yield from _said(row, selection, row["judge"], row["verdict"], first, by_judge=True)


def _said(
    row: Mapping[str, Any], selection: WantedVerdicts, rater: str, verdict: int | None, first: str, *, by_judge: bool
) -> Iterator[Said]:
    if selection.dataset in ("", row["dataset"]) and {*selection.systems} <= {row["system_a"], row["system_b"]}:
        yield Said(
            row["instance_id"], row["dataset"], row["pair_index"], (row["system_a"], row["system_b"]),
            (row["generation_a_index"], row["generation_b_index"]), rater, by_judge, verdict, first,
            row.get("repeat") or 0, row.get("tie_kind") or "", row["rated_at"], row.get("p_b"),
        )  # fmt: skip


def _majorities(verdicts_said: Iterable[Said]) -> Iterator[Said]:
    pairs: dict[tuple[Any, ...], tuple[Said, list[float]]] = {}
    for verdict in verdicts_said:
        _, counts = pairs.setdefault((verdict.instance_id, verdict.systems, verdict.index), (verdict, [0.0, 0.0, 0.0]))
        if verdict.verdict is not None:
            counts[verdict.verdict + 1] += 1
    majorities = majority_of_counts(np.array([counts for _, counts in pairs.values()]).reshape(-1, 3))
    for (verdict, _), majority in zip(pairs.values(), majorities.tolist(), strict=True):
        if not math.isnan(majority):
            yield replace(
                verdict,
                verdict=int(majority),
                rater=MAJORITY,
                first="a",
                repeat=0,
                tie_kind="",
                rated_at=None,
                p_b=None,
            )


def wanted_rows(study: Study, selection: WantedVerdicts) -> Iterator[tuple[Said, Texts]]:
    """Yield the verdicts with their texts, without those that are to be left out."""
    row_filter = RowFilter(selection.without)
    for verdict, texts in with_texts(study, verdicts(study, selection)):
        better, worse = (texts.a, texts.b) if verdict.verdict == -1 else (texts.b, texts.a)
        other = (texts.source, verdict.verdict is None)
        if row_filter.keeps(better=better, worse=worse, is_tie=verdict.verdict == 0, other=other):
            yield verdict, texts


def with_texts(study: Study, verdicts_said: Iterable[Said]) -> Iterator[tuple[Said, Texts]]:
    """Add the texts, of some verdicts at a time."""
    remaining = iter(verdicts_said)
    while chunk := list(islice(remaining, CHUNK)):
        ids = {verdict.instance_id for verdict in chunk}
        sources = {
            instance_id: stored_content(source, messages)
            for instance_id, source, messages in Instance.objects.filter(study=study, instance_id__in=ids).values_list(
                "instance_id", "source", "messages"
            )
        }
        rows = Generation.objects.filter(instance__study=study, instance__instance_id__in=ids)
        texts = {
            (instance_id, system, index): stored_content(text, messages)
            for instance_id, system, index, text, messages in rows.values_list(
                "instance__instance_id", "system__name", "index", "text", "messages"
            )
        }
        for verdict in chunk:
            a, b = (
                texts[verdict.instance_id, system, index]
                for system, index in zip(verdict.systems, verdict.generations, strict=True)
            )
            yield verdict, Texts(sources[verdict.instance_id], a, b)


def write_alpacaeval(study: Study, out: Path, selection: WantedVerdicts) -> dict[str, int]:
    """Write `annotations.json` and `leaderboard.csv`, each B against its A. Return the rows of each."""
    sums: dict[tuple[str, str], _Sums] = {}

    def annotations() -> Iterator[Json]:
        for verdict, texts in wanted_rows(study, selection):
            preference = (
                None
                if verdict.verdict is None
                else 1.5 + verdict.verdict / 2
                if verdict.p_b is None
                else 1 + verdict.p_b
            )
            sums.setdefault(verdict.systems, _Sums()).add(preference, len(texts.b))
            yield {
                "instruction": raw_content(texts.source),
                "output_1": raw_content(texts.a),
                "generator_1": verdict.systems[0],
                "output_2": raw_content(texts.b),
                "generator_2": verdict.systems[1],
                "annotator": verdict.rater,
                "rater_kind": "judge" if verdict.by_judge else "person",
                "preference": preference,
                "is_switched_outputs": verdict.first == "b" if verdict.first else None,
                "repeat": verdict.repeat,
                "rated_at": verdict.rated_at,
                **verdict.place,
            }

    written = {"annotations.json": write_array(out / "annotations.json", annotations())}
    board = [{"": b, "reference": a, **total.row()} for (a, b), total in sums.items()]
    columns = ("", "reference", *_Sums().row())
    return {**written, "leaderboard.csv": write_rows(out / "leaderboard.csv", board, columns, "csv")}


@dataclass
class _Sums:
    """Preferences for B of one pair of systems. The win rate in percent, a draw counting half."""

    wins: int = 0
    losses: int = 0
    draws: int = 0
    total: float = 0.0
    squares: float = 0.0
    characters: int = 0

    def add(self, preference: float | None, length: int) -> None:
        """Count a preference, unless it is missing."""
        if preference is None:
            return
        share = 100 * (preference - 1)
        self.wins, self.losses = self.wins + (share > 50), self.losses + (share < 50)
        self.draws += share == 50
        self.total, self.squares, self.characters = (
            self.total + share,
            self.squares + share**2,
            self.characters + length,
        )

    def row(self) -> Json:
        """Return the columns of AlpacaEval's leaderboard, or an empty string where there are too few."""
        n = self.wins + self.losses + self.draws
        mean = self.total / n if n else None
        spread = math.sqrt(max(0.0, self.squares - self.total**2 / n) / (n - 1) / n) if n > 1 else None
        return {
            "win_rate": mean,
            "standard_error": spread,
            "n_wins": self.wins,
            "n_wins_base": self.losses,
            "n_draws": self.draws,
            "n_total": n,
            "avg_length": self.characters / n if n else None,
        }


def write_arena(study: Study, out: Path, selection: WantedVerdicts) -> dict[str, int]:
    """Write `battles.json`: a battle for each verdict, the text that was shown first as that of model_a."""

    def battles() -> Iterator[Json]:
        for verdict, texts in wanted_rows(study, selection):
            if verdict.verdict is None:
                continue
            in_order = [(verdict.systems[0], texts.a), (verdict.systems[1], texts.b)]
            in_order = in_order if verdict.first == "a" else in_order[::-1]
            (model_a, text_a), (model_b, text_b) = in_order
            source = as_messages(texts.source, "user")
            is_chat = any(isinstance(content, Transcript) for content in (texts.source, text_a, text_b))
            won = "tie (bothbad)" if verdict.tie_kind == "bad" else "tie"
            yield {
                "question_id": verdict.instance_id,
                "model_a": model_a,
                "model_b": model_b,
                "winner": won if verdict.verdict == 0 else WORDS[verdict.first][verdict.verdict > 0],
                "judge": f"{JUDGE}{verdict.rater}" if verdict.by_judge else verdict.rater,
                "conversation_a": [*source, *as_messages(text_a, "assistant")],
                "conversation_b": [*source, *as_messages(text_b, "assistant")],
                **({SOURCE_MESSAGES: len(source)} if is_chat else {}),
                "turn": 1,
                "language": study.language,
                "tstamp": datetime.fromisoformat(verdict.rated_at).timestamp() if verdict.rated_at else None,
                "repeat": verdict.repeat,
                **verdict.place,
            }

    return {"battles.json": write_array(out / "battles.json", battles())}


def write_label_studio(study: Study, out: Path, selection: WantedVerdicts) -> dict[str, int]:
    """Write `tasks.json`, a task for each pair in each order, and `labels.xml`, the labelling configuration."""
    tasks: dict[tuple[Any, ...], list[Said]] = {}
    for verdict, _texts in wanted_rows(study, selection):
        if verdict.verdict is not None:
            tasks.setdefault((verdict.instance_id, verdict.systems, verdict.index, verdict.first), []).append(verdict)

    def rows() -> Iterator[Json]:
        for verdict, texts in with_texts(study, (answers[0] for answers in tasks.values())):
            answers = tasks[verdict.instance_id, verdict.systems, verdict.index, verdict.first]
            left_side, right_side = (("a", 0), ("b", 1)) if verdict.first == "a" else (("b", 1), ("a", 0))
            yield {
                "data": {
                    "prompt": texts.source,
                    "left": getattr(texts, left_side[0]),
                    "right": getattr(texts, right_side[0]),
                    "left_system": verdict.systems[left_side[1]],
                    "right_system": verdict.systems[right_side[1]],
                    **verdict.place,
                },
                "annotations": [
                    {"rater": each.rater, "created_at": each.rated_at, "was_cancelled": False, "result": _result(each)}
                    for each in answers
                    if not each.by_judge
                ],
                "predictions": [
                    {
                        "model_version": each.rater,
                        "created_at": each.rated_at,
                        "repeat": each.repeat,
                        "result": _result(each),
                    }
                    for each in answers
                    if each.by_judge
                ],
            }

    count = write_array(out / "tasks.json", rows())
    question = find_question(study, selection.question).text
    with replacing(out / "labels.xml") as part_file:
        part_file.write_text(LABELS.format(question=quoteattr(question)), encoding="utf-8")
    return {"tasks.json": count, "labels.xml": 1}


LABELS = """<View>
  <Header value={question}/>
  <Text name="prompt" value="$prompt"/>
  <Pairwise name="preference" toName="left,right"/>
  <Text name="left" value="$left"/>
  <Text name="right" value="$right"/>
  <Choices name="tie" toName="prompt" choice="single"><Choice value="tie"/></Choices>
</View>
"""


def _result(verdict: Said) -> list[Json]:
    if verdict.verdict == 0:
        return [{"from_name": "tie", "to_name": "prompt", "type": "choices", "value": {"choices": ["tie"]}}]
    is_left = (verdict.verdict == -1) == (verdict.first == "a")
    selected = {"selected": "left" if is_left else "right"}
    return [{"from_name": "preference", "to_name": "left,right", "type": "pairwise", "value": selected}]


def write_array(path: Path, rows: Iterable[Json]) -> int:
    """Write a JSON array, one object a line, and return its length."""
    count = 0
    with replacing(path) as part_file, part_file.open("w", encoding="utf-8") as file:
        file.write("[")
        for row in rows:
            file.write(f"{',' if count else ''}\n{json.dumps(row, ensure_ascii=False, allow_nan=False)}")
            count += 1
        file.write("\n]\n")
    return count


WRITERS: dict[str, Callable[[Study, Path, WantedVerdicts], dict[str, int]]] = {
    "alpacaeval": write_alpacaeval,
    "arena": write_arena,
    "label-studio": write_label_studio,
}
