"""Importing long-form ratings, and votes with a winner."""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import islice
from typing import Any

from annotation.core.database.aggregates import grouped
from annotation.core.errors import MOST_BAD_LINES, BadLine
from annotation.core.files import lines
from annotation.core.files.lines import FileData
from annotation.core.files.mapping import NOTHING, FieldMapping, in_own_columns, recorded
from annotation.core.names import trim
from annotation.core.reasons import Reason
from annotation.core.refusals import refusal
from annotation.importing.content import StoredInstances, stage_instances
from annotation.importing.formats.ratings_file import LongRow, parse_ratings
from annotation.importing.formats.votes import VoteRow, parse_votes
from annotation.importing.rating_rows import SCRIPTED, RatedPair, RatingRow, default_batch
from annotation.importing.ratings import CHUNK, PARTS, StoredRatings, stage_ratings
from annotation.importing.staging import open_import
from annotation.models import ComparisonTable, Pair, Rating, Study
from annotation.questions.questions import MAIN, Question


@in_own_columns
def import_ratings(
    *, data: FileData, name: str, slug: str, scripted: bool = False, mapping: FieldMapping = NOTHING
) -> tuple[Study, StoredRatings]:
    """Import long-form ratings of a study's pairs, whole or not at all. `scripted`: the raters are programs.

    Ratings of qualifications and hidden checks are left out.
    mapping : field → column, see `annotation.core.files.mapping`
    Raises: BadFile listing the bad lines; UnknownStudy.
    """
    parsed, bad = parse_ratings(data, name, mapping)
    number = checks = 0
    for row in parsed:
        number += 1
        checks += row.is_check
    with open_import(slug, rows=number - checks, parts=PARTS) as target:
        # Read a second time: the rows of a large file take far more memory than the file.
        again, of_second_reading = parse_ratings(data, name, mapping)
        rows = (_by_program(row) if scripted else row for row in again if not row.is_check)
        resolved = RatingPlaces(target.study).resolve(rows, bad)
        stored = stage_ratings(target=target, rows=resolved, name=name, bad=bad)
        lines.refuse(name, of_second_reading)  # of a file that has changed meanwhile
        if stored.added:
            target.record(
                kind="ratings", name=name, data=data, counts=stored.counts, scripted=scripted, **recorded(mapping)
            )
    return target.study, replace(stored, checks=checks)


def _by_program(row: LongRow) -> LongRow:
    """Prefix a program's code, since exports have no column that distinguishes it from a person's."""
    return row if row.rater.startswith(SCRIPTED) else replace(row, rater=f"{SCRIPTED}-{row.rater}")


def import_votes(
    *, data: FileData, name: str, texts: FileData, texts_name: str, slug: str, dataset: str, **settings: Any
) -> tuple[Study, StoredInstances, StoredRatings]:
    """Import votes with a winner, and their texts, whole or not at all.

    Raises: BadFile listing the bad lines.
    """
    dataset = trim(dataset)
    instances, votes = parse_votes(data, name, texts, texts_name, dataset=dataset)
    with open_import(slug, rows=len(votes), parts=PARTS, settings=settings) as target:
        stored = stage_instances(target=target, rows=instances, name=texts_name)
        related = Pair.objects.filter(
            matchup__instance__study__in=target.studies, matchup__instance__dataset=dataset
        ).select_related("matchup__instance", "matchup__system_a", "matchup__system_b")
        pairs = {
            (
                pair.matchup.instance.instance_id,
                frozenset((pair.matchup.system_a.name, pair.matchup.system_b.name)),
            ): pair
            for pair in related
        }
        rows = [_vote(vote, pairs[vote.instance_id, frozenset((vote.left, vote.right))]) for vote in votes]
        stored_ratings = stage_ratings(target=target, rows=rows, name=name)
        if stored.added or stored_ratings.added:
            counts = {"instances": stored.added, "ratings": stored_ratings.added}
            target.record(kind="votes", name=name, data=data, counts=counts, dataset=dataset)
    return target.study, stored, stored_ratings


def _vote(vote: VoteRow, pair: Pair) -> RatingRow:
    a_is_left = pair.matchup.system_a.name == vote.left
    screen = {"left": -1, "tie": 0, "right": 1}[vote.winner]
    return RatingRow(
        number=vote.number,
        batch=default_batch(pair.matchup.instance.dataset, pair.matchup.system_a.name, pair.matchup.system_b.name),
        hit=f"{vote.instance_id}/{vote.left}/{vote.right}",
        pair=RatedPair.of(pair),
        rater=vote.worker,
        verdict=screen if a_is_left else -screen,
        a_is_left=a_is_left,
    )


def _shows_placebo(row: LongRow) -> bool:
    """Tell whether another pair's table was shown, which the file doesn't identify."""
    return row.arm.startswith("placebo:")


class _StudyQuestions:
    """The questions of a study, as the rows of a file name them."""

    def __init__(self, study: Study) -> None:
        self.slug = study.slug
        self.by_key = {question.key: question for question in study.questions}
        self.main = next(iter(self.by_key.values()))

    def question(self, row: LongRow) -> Question:
        """Return the question that a row without a problem is about."""
        return self.by_key[row.question] if row.question else self.main

    def problem(self, row: LongRow) -> Reason | None:
        """Return why the study does not take a row's answer, or None."""
        question = self.by_key.get(row.question or self.main.key)
        if question is None:
            return refusal(
                "unknown_question", question=repr(row.question), study=self.slug, questions=", ".join(self.by_key)
            )
        key, main = question.key, self.main.key
        for field, value, setting in (("strength", row.strength, "strength"), ("tie_kind", row.tie_kind, "tie_kinds")):
            if value and not getattr(question, setting):
                to_set = setting if question.number == MAIN else f"{setting} of {key} in criteria"
                return refusal("not_asked_for", field=field, value=repr(value), question=key, setting=to_set)
        if question.number == MAIN:
            return None
        if row.stage != Rating.Stage.FIRST:
            return refusal("not_in_second_stage", stage=row.stage, question=key, main=main)
        if row.reason or row.active_seconds is not None or row.wall_seconds is not None:
            return refusal("of_whole_pair", main=main, question=key)
        return None


@dataclass(frozen=True, slots=True)
class _IndexedPair(RatedPair):
    """A pair with its index and those of its generations."""

    index: int
    index_a: int
    index_b: int


class RatingPlaces:
    """The pairs and tables of a study, as the rows of a file name them. Verdicts are turned to the study's A and B."""

    def __init__(self, study: Study) -> None:
        self.study = study
        self.asked = _StudyQuestions(study)
        self.matchups: dict[tuple[str, str, str], list[_IndexedPair]] = {}
        self.tables: dict[tuple[int, str], ComparisonTable] = {}

    def resolve(self, rows: Iterable[LongRow], bad: list[BadLine]) -> Iterator[RatingRow]:
        """Convert the rows, and list those without a pair or table, and answers that the study doesn't ask for."""
        remaining = iter(rows)
        while len(bad) < MOST_BAD_LINES and (chunk := list(islice(remaining, CHUNK))):
            self._load(chunk)
            for row in chunk:
                pair, swapped = self._pair(row)
                if isinstance(pair, BadLine):
                    bad.append(pair)
                elif row.table_variant and not _shows_placebo(row) and (pair.pk, row.table_variant) not in self.tables:
                    bad.append(BadLine(row.number, refusal("no_table", variant=repr(row.table_variant))))
                elif problem := self.asked.problem(row):
                    bad.append(BadLine(row.number, problem))
                else:
                    yield self._rating(row, pair, swapped)

    def _load(self, rows: Sequence[LongRow]) -> None:
        """Look up the pairs of some rows, and their tables."""
        ids = {row.instance_id for row in rows}
        names = ("matchup__instance__instance_id", "matchup__system_a__name", "matchup__system_b__name")
        keys = ("pk", "matchup_id", "matchup__instance__dataset", "matchup__system_a_id", "matchup__system_b_id")
        pairs = Pair.objects.filter(matchup__instance__study=self.study, matchup__instance__instance_id__in=ids)
        columns = (*names, *keys, "index", "generation_a__index", "generation_b__index")
        self.matchups = grouped(
            ((instance, a, b), _IndexedPair(*values))
            for instance, a, b, *values in pairs.order_by("pk").values_list(*columns).iterator()
        )
        variants = {row.table_variant for row in rows if row.table_variant}
        tables = ComparisonTable.objects.filter(
            study=self.study, variant__in=variants, pair__matchup__instance__instance_id__in=ids
        )
        self.tables = {(table.pair_id, table.variant): table for table in tables.defer("rows")} if variants else {}

    def _pair(self, row: LongRow) -> tuple[_IndexedPair | BadLine, bool]:
        """Return the pair of a row, and whether its A is the study's B."""
        swapped = (row.instance_id, row.system_a, row.system_b) not in self.matchups
        a, b = row.generation_a_index, row.generation_b_index
        key, indexes_wanted = (row.instance_id, row.system_a, row.system_b), (row.pair_index, a, b)
        if swapped:
            key, indexes_wanted = (row.instance_id, row.system_b, row.system_a), (row.pair_index, b, a)
        if key not in self.matchups:
            reason = refusal(
                "not_compared", system_a=row.system_a, system_b=row.system_b, instance=repr(row.instance_id)
            )
            return BadLine(row.number, reason), swapped
        pairs = self.matchups[key]
        if indexes_wanted == (None, None, None) and len(pairs) > 1:
            reason = refusal("pair_index_needed", instance=repr(row.instance_id), number=len(pairs))
            return BadLine(row.number, reason), swapped
        for pair in pairs:
            indexes = (pair.index, pair.index_a, pair.index_b)
            if all(requested in (None, index) for requested, index in zip(indexes_wanted, indexes, strict=True)):
                return pair, swapped
        return BadLine(row.number, refusal("no_pair_of_indexes")), swapped

    def _rating(self, row: LongRow, pair: RatedPair, swapped: bool) -> RatingRow:
        systems = (row.system_b, row.system_a) if swapped else (row.system_a, row.system_b)
        return RatingRow(
            number=row.number,
            batch=row.batch or default_batch(pair.dataset, *systems),
            hit=row.hit or row.instance_id,
            pair=pair,
            rater=row.rater,
            verdict=-row.rating if swapped else row.rating,
            a_is_left=(row.shown_first == "a") != swapped if row.shown_first else None,
            stage=row.stage,
            arm=row.arm,
            table=None if _shows_placebo(row) else self.tables.get((pair.pk, row.table_variant)),
            reason=row.reason,
            active_seconds=row.active_seconds,
            wall_seconds=row.wall_seconds,
            rated_at=row.rated_at,
            late=row.late,
            excluded=row.excluded,
            exclusion_reason=row.exclusion_reason,
            software_version=row.software_version,
            translated=row.translated,
            question=self.asked.question(row).number,
            strength=row.strength,
            tie_kind=row.tie_kind,
        )
