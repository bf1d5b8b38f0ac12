"""Importing long-form ratings."""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace
from itertools import islice

from annotation.core.database.aggregates import grouped
from annotation.core.errors import MOST_BAD_LINES, BadLine
from annotation.core.files import lines
from annotation.core.files.lines import FileData
from annotation.core.files.mapping import NOTHING, FieldMapping, in_own_columns, recorded
from annotation.core.reasons import Reason
from annotation.core.refusals import refusal
from annotation.importing.formats.ratings_file import SHARED, LongRow, parse_ratings
from annotation.importing.rating_rows import SCRIPTED, RatedPair, RatingRow, default_batch
from annotation.importing.ratings import CHUNK, PARTS, StoredRatings, stage_ratings
from annotation.importing.staging import open_import
from annotation.models import ComparisonTable, Pair, Rating, Study
from annotation.questions.questions import MAIN


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


class RatingPlaces:
    """The pairs, tables and questions of a study, as the rows of a file name them. Verdicts are turned to the study's A and B."""

    def __init__(self, study: Study) -> None:
        self.study = study
        self.questions = {question.key: question for question in study.questions}
        self.main = next(iter(self.questions))
        self.pairs: dict[tuple[str, str, str], list[RatedPair]] = {}  # of an instance and two systems
        self.tables: dict[tuple[int, str], ComparisonTable] = {}

    def resolve(self, rows: Iterable[LongRow], bad: list[BadLine]) -> Iterator[RatingRow]:
        """Convert the rows, and list those without a pair or table, and answers that the study doesn't ask for."""
        remaining = iter(rows)
        while len(bad) < MOST_BAD_LINES and (chunk := list(islice(remaining, CHUNK))):
            self._load(chunk)
            for row in chunk:
                resolved = self._resolved(row)
                if isinstance(resolved, Reason):
                    bad.append(BadLine(row.number, resolved))
                else:
                    yield resolved

    def _load(self, rows: Sequence[LongRow]) -> None:
        """Look up the pairs of some rows, and their tables."""
        ids = {row.instance_id for row in rows}
        names = ("matchup__instance__instance_id", "matchup__system_a__name", "matchup__system_b__name")
        keys = ("pk", "matchup_id", "matchup__instance__dataset", "matchup__system_a_id", "matchup__system_b_id")
        pairs = Pair.objects.filter(matchup__instance__study=self.study, matchup__instance__instance_id__in=ids)
        columns = (*names, *keys, "index", "generation_a__index", "generation_b__index")
        self.pairs = grouped(
            ((instance, a, b), RatedPair(*values))
            for instance, a, b, *values in pairs.order_by("pk").values_list(*columns).iterator()
        )
        variants = {row.table_variant for row in rows if row.table_variant}
        tables = ComparisonTable.objects.filter(
            study=self.study, variant__in=variants, pair__matchup__instance__instance_id__in=ids
        )
        self.tables = {(table.pair_id, table.variant): table for table in tables.defer("rows")} if variants else {}

    def _resolved(self, row: LongRow) -> RatingRow | Reason:
        """Return a row with its pair and table, or the problem."""
        a, b, instance = row.system_a, row.system_b, row.instance_id
        indexes = (row.pair_index, row.generation_a_index, row.generation_b_index)
        if swapped := (instance, a, b) not in self.pairs:
            a, b, indexes = b, a, (row.pair_index, row.generation_b_index, row.generation_a_index)
        if (instance, a, b) not in self.pairs:
            return refusal("not_compared", system_a=row.system_a, system_b=row.system_b, instance=repr(instance))
        pairs = self.pairs[instance, a, b]
        if indexes == (None, None, None) and len(pairs) > 1:
            return refusal("pair_index_needed", instance=repr(instance), number=len(pairs))
        pair = next((pair for pair in pairs if pair.has(indexes)), None)
        if pair is None:
            return refusal("no_pair_of_indexes")
        # The table of a placebo is of another pair, which the file doesn't identify.
        variant = "" if row.arm.startswith("placebo:") else row.table_variant
        table = self.tables.get((pair.pk, variant))
        if variant and table is None:
            return refusal("no_table", variant=repr(variant))
        if problem := self._problem(row):
            return problem
        return RatingRow(
            **{name: getattr(row, name) for name in SHARED}
            | {"batch": row.batch or default_batch(pair.dataset, a, b), "hit": row.hit or instance},
            pair=pair,
            verdict=-row.rating if swapped else row.rating,
            a_is_left=(row.shown_first == "a") != swapped if row.shown_first else None,
            table=table,
            question=self.questions[row.question or self.main].number,
        )

    def _problem(self, row: LongRow) -> Reason | None:
        """Return why the study does not take a row's answer, or None."""
        key, main = row.question or self.main, self.main
        if (question := self.questions.get(key)) is None:
            keys = ", ".join(self.questions)
            return refusal("unknown_question", question=repr(key), study=self.study.slug, questions=keys)
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
