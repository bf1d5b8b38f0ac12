"""The judges of an ablation in a bundle, round by round, by the rules of `judging.ablation.reading`. No models."""

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from decimal import Decimal
from functools import cached_property
from itertools import chain
from typing import Any, NamedTuple

from analysis.types import FloatArray
from annotation.questions.questions import MAIN
from judging.ablation.judge_configurations import AblationJudge, AskedEndpoint
from judging.ablation.round_arrays import (
    Cell,
    KnownAspects,
    MadeTable,
    Taken,
    drawn_tables,
    latest_cells,
    one_of_each,
    pair_name,
    rounds_of,
)
from reporting.ablation.comparison import AblationData
from reporting.bundle.gold_rows import gold_pairs
from reporting.bundle.layout import BadBundle
from reporting.bundle.opening import Bundle
from reporting.bundle.structure import Structure, integers, questions_of

ABOUT = ("prompt_tokens", "completion_tokens", "cost")
UNKNOWN = float("nan")


def read_ablation(bundle: Bundle, structure: Structure, voted: FloatArray) -> AblationData:
    """Return what ways of judging are compared by.

    voted : (2, n) place of the pair and verdict of people's first votes
    Raises: BadBundle for rows that can't be read.
    """
    votes: dict[int, list[int]] = {}
    for place, verdict in integers(voted.T).tolist():
        votes.setdefault(int(structure.pair[place]), []).append(verdict)
    with _refusing():
        rows = _AblationRows(bundle, structure)
        judged = [
            rounds_of(judge, one, rows.known, rows.cells.get(judge.key, {}), rows.instance, rows.taken)
            for judge, one in rows.judges
        ]
    return AblationData(str(bundle.study["study"]), gold_pairs(structure), judged, votes, rows.tables)


@contextmanager
def _refusing() -> Iterator[None]:
    """Say so where rows are not as they should be.

    Raises: BadBundle
    """
    try:
        yield
    except (ArithmeticError, IndexError, KeyError, TypeError, ValueError) as error:
        raise BadBundle(f"the rows of an ablation's judges can't be read: {error!r}") from None


def known_aspects(bundle: Bundle) -> KnownAspects:
    """Return the aspects that judges were given when the bundle was written, without the names of their versions."""
    return KnownAspects(bundle.study["settings"]["task_kind"], bundle.study.get("aspects_hash"))


class _Presentation(NamedTuple):
    """A main question that was asked, by its record; `turn` is that of its run."""

    turn: int
    key: int
    judge: int
    pair: int
    repeat: int
    is_plain: bool


class _AblationRows:
    """The rows of the judges that are compared, and of what they were asked."""

    def __init__(self, bundle: Bundle, structure: Structure) -> None:
        self.bundle = bundle
        self.structure = structure
        self.known = known_aspects(bundle)
        self.place_of = {pair: place for place, pair in enumerate(structure.pair.tolist())}
        instance = structure.instance[structure.pair_matchup].tolist()
        self.instance = dict(zip(self.place_of, instance, strict=True))
        runs = sorted(bundle.rows("records/judgerun"), key=lambda row: (row["created_at"], row["id"]))
        asked = {run["judge"] for run in runs if MAIN in run["questions"]}
        settings = [one for one in _judges(bundle) if one.key in asked]
        self.judges = one_of_each(settings, self.known)
        compared = {judge.key for judge, _ in self.judges}
        self.judge_of = {run["id"]: run["judge"] for run in runs if run["judge"] in compared}
        self.turn = {run["id"]: place for place, run in enumerate(runs)}
        self.presentations: list[tuple[_Presentation, Cell]] = self._read_presentations() if self.judges else []

    def _read_presentations(self) -> list[tuple[_Presentation, Cell]]:
        """Read what was asked: verdicts and calls from the readable rows, which lack those that are still open."""
        main = questions_of(self.bundle)[MAIN].key
        said = {
            _named(row): (row["status"], row["verdict"], row["calls"])
            for row in self.bundle.rows("judgments")
            if row["run"] in self.judge_of and row.get("question", main) == main
        }
        found = []
        for row in self.bundle.rows("records/judgment"):
            if row["run"] in self.judge_of and row["question"] == MAIN:
                run, pair, _, repeat, negated = name = _named(row)
                is_open = row["status"] == "pending"
                status, verdict, calls = (row["status"], None, row["calls"]) if is_open else said[name]
                if (verdict is None) == (status == "parsed"):
                    raise ValueError(f"status is {status}: a verdict is there when it is parsed, and only then")
                one = _Presentation(self.turn[run], row["id"], self.judge_of[run], pair, repeat, not negated)
                found.append((one, Cell(row["id"], status, verdict, calls, row["cached"])))
        return sorted(found)

    @cached_property
    def cells(self) -> dict[int, dict[tuple[int, int], Cell]]:
        """The cells of each judge."""
        return latest_cells((one.judge, one.pair, one.repeat, cell) for one, cell in self.presentations if one.is_plain)

    @cached_property
    def taken(self) -> dict[int, dict[str, Taken]]:
        """The usage of each judgment's answers by kind."""
        if not self.presentations:
            return {}
        wanted = {one.key for one, _ in self.presentations if one.is_plain}
        links = [
            (row["judgment"], row["completion"])
            for row in self.bundle.rows("records/judgment_completions")
            if row["judgment"] in wanted
        ]
        used = {completion for _, completion in links}
        answers = {
            row["id"]: (row["kind"], *(None if row[name] is None else Decimal(row[name]) for name in ABOUT))
            for row in self.bundle.rows("completions")
            if row["id"] in used
        }
        of_kind: dict[int, dict[str, list[tuple[Decimal | None, ...]]]] = {}
        for judgment, completion in links:
            kind, *took = answers[completion]
            of_kind.setdefault(judgment, {}).setdefault(kind, []).append(tuple(took))
        return {
            judgment: {kind: Taken(len(rows), *map(_total, zip(*rows, strict=True))) for kind, rows in kinds.items()}
            for judgment, kinds in of_kind.items()
        }

    def tables(self, judge: str) -> tuple[list[MadeTable], int]:
        """Return some of the tables that a judge made, in the order of the pairs, and how many there are."""
        with _refusing():
            made, drawn = self._made[judge], set(self._drawn[judge])
            in_order = sorted(made, key=lambda cell: cell[::-1])
            chosen = [(self._records[made[cell]], cell[1]) for cell in in_order if made[cell] in drawn]
            return [MadeTable.of(record, *self._texts[pair]) for record, pair in chosen], len(made)

    @cached_property
    def _made(self) -> dict[str, dict[tuple[int, int], int]]:
        """The judgment of each table, by its maker's name, round and pair; of several runs the latest."""
        makers = {row["judgment"] for row in self.bundle.rows("records/tablemaking")}
        names = {judge.key: judge.name for judge, _ in self.judges}
        made: dict[str, dict[tuple[int, int], int]] = {name: {} for name in names.values()}
        for one, _ in self.presentations:
            if one.key in makers:
                made[names[one.judge]][one.repeat, one.pair] = one.key
        return made

    @cached_property
    def _drawn(self) -> dict[str, list[int]]:
        """The judgments of the tables that are looked at, by their maker's name."""
        pairs = {pair for made in self._made.values() for _, pair in made}
        names = {pair: self._name(self.place_of[pair]) for pair in pairs}
        seed = self.bundle.study["settings"]["seed"]
        return {judge: drawn_tables(made, names, seed=seed) for judge, made in self._made.items()}

    @cached_property
    def _records(self) -> dict[int, Any]:
        wanted = {key for drawn in self._drawn.values() for key in drawn}
        rows = self.bundle.rows("records/tablemaking")
        return {row["judgment"]: row["record"] for row in rows if row["judgment"] in wanted}

    @cached_property
    def _texts(self) -> dict[int, tuple[int, str, str]]:
        """The place of the instance and the two texts of each pair whose tables are looked at."""
        structure = self.structure
        pairs = {one.pair: self.place_of[one.pair] for one, _ in self.presentations if one.key in self._records}
        wanted = {int(of[place]) for place in pairs.values() for of in (structure.text_a, structure.text_b)}
        generations = (row["id"] for row in self.bundle.rows("records/generation"))
        listed = (texts for row in self.bundle.rows("instances") for texts in row["generations"].values())
        found = {key: text for key, text in zip(generations, chain.from_iterable(listed), strict=True) if key in wanted}
        sides = structure.text_a.tolist(), structure.text_b.tolist()
        return {
            pair: (self.instance[pair], found[sides[0][place]], found[sides[1][place]]) for pair, place in pairs.items()
        }

    def _name(self, place: int) -> str:
        structure = self.structure
        matchup = int(structure.pair_matchup[place])
        a, b = (structure.systems[int(of[matchup])].name for of in (structure.system_a, structure.system_b))
        return pair_name(structure.instance_ids[structure.instance[matchup]], a, b, int(structure.index[place]))


def _judges(bundle: Bundle) -> list[AblationJudge]:
    endpoints = {
        row["id"]: AskedEndpoint(row["name"], row["model"], row["currency"]) for row in bundle.rows("records/endpoint")
    }
    copied = ("name", "method", "table_variant", "repeats", "params", "seed", "created_at")
    return [
        AblationJudge(
            **{name: row[name] for name in copied},
            endpoint=endpoints.get(row["endpoint"]),
            table_endpoint=endpoints.get(row["table_endpoint"]),
            key=row["id"],
        )
        for row in bundle.rows("records/judge")
    ]


def _named(row: Mapping[str, Any]) -> tuple[int, int, str, int, bool]:
    """Return what a presentation is found by in the readable rows and in the records."""
    return row["run"], row["pair"], row["order"], row["repeat"], row["negated"]


def _total(numbers: tuple[Decimal | None, ...]) -> float:
    known = [one for one in numbers if one is not None]
    return float(sum(known, Decimal(0))) if len(known) == len(numbers) else UNKNOWN
