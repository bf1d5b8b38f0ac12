"""A study's verdicts in the forms of other tools: AlpacaEval's annotations and leaderboard, Arena battles, Label Studio's tasks.

Each has what its importer needs to make the same pairs and verdicts of it.
"""

import json
import math
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from itertools import islice
from pathlib import Path
from typing import Any
from xml.sax.saxutils import quoteattr

from annotation.models import Generation, Instance, Study
from annotation.studies.questions import find_question, named_questions
from judging.outcomes.judgment_rows import judgment_rows
from reporting.exports.files import replacing, write_rows
from reporting.exports.rows import rating_rows

CHUNK = 500
PEOPLE, JUDGE = "people", "judge:"
WORDS = {"a": ("model_a", "model_b"), "b": ("model_b", "model_a")}
Json = dict[str, Any]


@dataclass(frozen=True)
class WantedVerdicts:
    """Whose verdicts are written, and on what; raters are `people` and `judge:NAME`, systems two or none for all."""

    raters: Sequence[str] = (PEOPLE,)
    dataset: str = ""
    question: str = ""
    stage: str = "first"
    systems: Sequence[str] = ()


@dataclass(frozen=True, slots=True)
class Said:
    """One verdict in study order; `first` is the system whose text was shown first: a or b."""

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
        """What the importer needs to know which pair it is."""
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


def verdicts(study: Study, wanted: WantedVerdicts) -> Iterator[Said]:
    """Yield people's counted ratings and judges' presentations, without those of negated questions."""
    key = find_question(study, wanted.question).key if named_questions(study) else None
    if PEOPLE in wanted.raters:
        for row in rating_rows(study):
            if not row["excluded"] and row["stage"] == wanted.stage and row.get("question", key) == key:
                yield from _said(row, wanted, row["rater"], row["rating"], row["shown_first"] or "a", by_judge=False)
    judges = {name.removeprefix(JUDGE) for name in wanted.raters if name.startswith(JUDGE)}
    for row in judgment_rows(study) if judges else ():
        if row["judge"] in judges and not row["negated"] and row.get("question", key) == key:
            first = "b" if row["order"] == "ba" else "a"
            yield from _said(row, wanted, row["judge"], row["verdict"], first, by_judge=True)


def _said(
    row: Mapping[str, Any], wanted: WantedVerdicts, rater: str, verdict: int | None, first: str, *, by_judge: bool
) -> Iterator[Said]:
    if wanted.dataset in ("", row["dataset"]) and {*wanted.systems} <= {row["system_a"], row["system_b"]}:
        yield Said(
            row["instance_id"], row["dataset"], row["pair_index"], (row["system_a"], row["system_b"]),
            (row["generation_a_index"], row["generation_b_index"]), rater, by_judge, verdict, first,
            row.get("repeat") or 0, row.get("tie_kind") or "", row["rated_at"], row.get("p_b"),
        )  # fmt: skip


def with_texts(study: Study, said: Iterable[Said]) -> Iterator[tuple[Said, Texts]]:
    """Add the texts, of some verdicts at a time."""
    left = iter(said)
    while chunk := list(islice(left, CHUNK)):
        wanted = {one.instance_id for one in chunk}
        sources = dict(
            Instance.objects.filter(study=study, instance_id__in=wanted).values_list("instance_id", "source")
        )
        rows = Generation.objects.filter(instance__study=study, instance__instance_id__in=wanted)
        texts = {
            (instance_id, system, index): text
            for instance_id, system, index, text in rows.values_list(
                "instance__instance_id", "system__name", "index", "text"
            )
        }
        for one in chunk:
            a, b = (
                texts[one.instance_id, system, index]
                for system, index in zip(one.systems, one.generations, strict=True)
            )
            yield one, Texts(sources[one.instance_id], a, b)


def write_alpacaeval(study: Study, out: Path, wanted: WantedVerdicts) -> dict[str, int]:
    """Write `annotations.json`, and `leaderboard.csv` with each B against its A; return the rows of each."""
    sums: dict[tuple[str, str], _Sums] = {}

    def annotations() -> Iterator[Json]:
        for one, texts in with_texts(study, verdicts(study, wanted)):
            preference = None if one.verdict is None else 1.5 + one.verdict / 2 if one.p_b is None else 1 + one.p_b
            sums.setdefault(one.systems, _Sums()).add(preference, len(texts.b))
            yield {
                "instruction": texts.source,
                "output_1": texts.a,
                "generator_1": one.systems[0],
                "output_2": texts.b,
                "generator_2": one.systems[1],
                "annotator": one.rater,
                "rater_kind": "judge" if one.by_judge else "person",
                "preference": preference,
                "is_switched_outputs": one.first == "b" if one.first else None,
                "repeat": one.repeat,
                "rated_at": one.rated_at,
                **one.place,
            }

    written = {"annotations.json": write_array(out / "annotations.json", annotations())}
    board = [{"": b, "reference": a, **found.row()} for (a, b), found in sums.items()]
    columns = ("", "reference", *_Sums().row())
    return {**written, "leaderboard.csv": write_rows(out / "leaderboard.csv", board, columns, "csv")}


@dataclass
class _Sums:
    """Preferences for B of one pair of systems; the win rate in percent, a draw counting half."""

    wins: int = 0
    losses: int = 0
    draws: int = 0
    total: float = 0.0
    squares: float = 0.0
    characters: int = 0

    def add(self, preference: float | None, length: int) -> None:
        """Count a preference; one that is missing does not count."""
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
        """Return the columns of AlpacaEval's leaderboard; empty where there are too few."""
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


def write_arena(study: Study, out: Path, wanted: WantedVerdicts) -> dict[str, int]:
    """Write `battles.json`: a battle for each verdict, the text that was shown first as that of model_a."""

    def battles() -> Iterator[Json]:
        for one, texts in with_texts(study, verdicts(study, wanted)):
            if one.verdict is None:
                continue
            shown = [(one.systems[0], texts.a), (one.systems[1], texts.b)]
            shown = shown if one.first == "a" else shown[::-1]
            (model_a, text_a), (model_b, text_b) = shown
            won = "tie (bothbad)" if one.tie_kind == "bad" else "tie"
            yield {
                "question_id": one.instance_id,
                "model_a": model_a,
                "model_b": model_b,
                "winner": won if one.verdict == 0 else WORDS[one.first][one.verdict > 0],
                "judge": f"{JUDGE}{one.rater}" if one.by_judge else one.rater,
                "conversation_a": _conversation(texts.source, text_a),
                "conversation_b": _conversation(texts.source, text_b),
                "turn": 1,
                "language": study.language,
                "tstamp": datetime.fromisoformat(one.rated_at).timestamp() if one.rated_at else None,
                "repeat": one.repeat,
                **one.place,
            }

    return {"battles.json": write_array(out / "battles.json", battles())}


def _conversation(source: str, answer: str) -> list[Json]:
    return [{"role": "user", "content": source}, {"role": "assistant", "content": answer}]


def write_label_studio(study: Study, out: Path, wanted: WantedVerdicts) -> dict[str, int]:
    """Write `tasks.json`, a task for each pair in each order, and `labels.xml`, the labelling configuration."""
    tasks: dict[tuple[Any, ...], list[Said]] = {}
    for one in verdicts(study, wanted):
        if one.verdict is not None:
            tasks.setdefault((one.instance_id, one.systems, one.index, one.first), []).append(one)

    def rows() -> Iterator[Json]:
        for one, texts in with_texts(study, (answers[0] for answers in tasks.values())):
            answers = tasks[one.instance_id, one.systems, one.index, one.first]
            left, right = (("a", 0), ("b", 1)) if one.first == "a" else (("b", 1), ("a", 0))
            yield {
                "data": {
                    "prompt": texts.source,
                    "left": getattr(texts, left[0]),
                    "right": getattr(texts, right[0]),
                    "left_system": one.systems[left[1]],
                    "right_system": one.systems[right[1]],
                    **one.place,
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
    question = find_question(study, wanted.question).text
    with replacing(out / "labels.xml") as made:
        made.write_text(LABELS.format(question=quoteattr(question)), encoding="utf-8")
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


def _result(one: Said) -> list[Json]:
    if one.verdict == 0:
        return [{"from_name": "tie", "to_name": "prompt", "type": "choices", "value": {"choices": ["tie"]}}]
    is_left = (one.verdict == -1) == (one.first == "a")
    selected = {"selected": "left" if is_left else "right"}
    return [{"from_name": "preference", "to_name": "left,right", "type": "pairwise", "value": selected}]


def write_array(path: Path, rows: Iterable[Json]) -> int:
    """Write a JSON array, an object a line; return how many."""
    count = 0
    with replacing(path) as made, made.open("w", encoding="utf-8") as file:
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
