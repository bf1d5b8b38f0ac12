"""A look at a file before it is imported: its fields, a mapping, and what its first records become."""

import csv
import io
import json
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import islice
from operator import itemgetter
from typing import Any

from django.db import transaction
from django.db.models import Max

from annotation.core.database.aggregates import grouped
from annotation.core.errors import AnnotationError, BadFile
from annotation.core.files import lines
from annotation.core.files.mapping import ROW_NUMBER
from annotation.core.files.record_fields import LETTERS_TO_SIGNS
from annotation.core.files.sent_files import Joined
from annotation.core.reasons import NO_REASON, Reason
from annotation.importing.formats.public_forms import AUTO, recognise
from annotation.models import Instance, Pair, Rating, Study
from judging.models import Judgment
from reporting.uploads.files import import_file, kind_of_mapping, resolved

MOST_RECORDS = 50  # of each file, which are imported and taken back
MOST_COUNTED = 32 * 2**20  # bytes of a file whose records are counted
MOST_PREVIEWED = 3
LONGEST = 200  # characters of an example
# By field, what data call it; the first that a file has is the guess.
NAMES = {
    "instance_id": (
        *("id", "idx", "index", "question_id", "prompt_id", "uid", "doc_id", "item_id", "nr", "number", "key"),
    ),
    "source": ("prompt", "instruction", "question", "input", "article", "document", "query", "context", "text", "post"),
    "dataset": ("category", "domain", "subset", "task"),
    "rater": ("annotator", "annotator_id", "worker", "worker_id", "user", "user_id", "judge"),
    "rating": ("winner", "preference", "vote", "choice", "label", "verdict"),
    "systems": ("pair", "systems", "cmp_key", "comparison"),
    "system_a": ("model_a", "model_1", "system_1", "generator_1", "left"),
    "system_b": ("model_b", "model_2", "system_2", "generator_2", "right"),
}
OWN = ("instance_id", "dataset", "source", "generations", "gold", "metadata", "matchups")  # fields of a study file
OF_PAIRS = ("system_a", "system_b", "systems", "pair_index")
RATERS = re.compile(r"(annotator|rater|worker|evaluator|person|expert|labell?er)[ _-]?\w{1,3}", re.IGNORECASE)
ANSWERS = {*LETTERS_TO_SIGNS, "-1", "0", ""}
OF_TEXTS = re.compile(r"response|answer|output|summary|completion|generation|translation|candidate", re.IGNORECASE)
Rows = list[dict[str, Any]]
Problem = tuple[int, str, str]


@dataclass
class Look:
    """A look at a file before its import.

    form     : its title; empty for a kind that was named, or a mapping
    records  : how many there are, at least; `more` where they were not all counted
    fields   : path and example of each field of the first record
    mapping  : of columns, the study's own of an earlier file of these fields, or a guess
    problems : line, code and text of the reason, by line: of the first records, and of any line that can't be read
    pairs    : the first ones, with their instances; rows: the first as they would be stored
    """

    kind: str
    form: str
    records: int
    more: bool
    fields: Sequence[tuple[str, str]]
    mapping: Mapping[str, str]
    problems: Sequence[Problem] = ()
    summary: Reason = NO_REASON
    pairs: Sequence[Pair] = ()
    rows: Rows = field(default_factory=list)

    @property
    def kinds_of_problems(self) -> list[tuple[Problem, int]]:
        """The first problem of each sort, which differ in more than numbers, and how many further lines have it."""
        sorts = grouped(
            ((code, re.sub(r"\d+", "", text)), (number, code, text)) for number, code, text in self.problems
        )
        return [(sort[0], len({number for number, *_ in sort}) - 1) for sort in sorts.values()]

    @property
    def unused(self) -> list[str]:
        """The fields of the first record that no mapping names; raters do not see them."""
        used = {name for column in self.mapping.values() for name in (column, column.partition(".")[0])}
        names = dict.fromkeys(path.partition(".")[0] for path, _ in self.fields if path not in used)
        return [name for name in names if name not in {*used, *OWN}] if self.kind == "study" and self.mapping else []


def look_at(joined: Joined, *, kind: str, slug: str, options: Mapping[str, str], **settings: Any) -> Look:
    """Import the first records of a file in a transaction that is taken back, and return what they become.

    options  : of `import_file`
    settings : of a study that is not there yet
    """
    first = _first_records(joined)
    records = [record for _, record in lines.read_content(first.data)[0]]
    example = records[0] if records else {}
    file: dict[str, Any] = {"data": first.data, "name": first.name, "slug": slug, "mapping": options.get("mapping", "")}
    try:
        look_kind, fields = resolved(kind=kind, **file)
        if kind == AUTO and look_kind == "sources" and not fields and len(_texts(records)) > 1:
            look_kind, fields = _guess(records)
    except BadFile as error:  # of no known form
        if error.lines[0].reason.code == "file_of_mturk":  # which needs names that no file has
            return Look("mturk", "", *_count(joined)[:2], list(_paths(example)), {}, _listed(error))
        look_kind, fields = _guess(records)
    form = recognise(first.data) if kind == AUTO and not (fields and isinstance(fields, Mapping)) else None
    mapping = fields if isinstance(fields, Mapping) else {}
    count, more, unreadable = _count(joined)
    look = Look(look_kind, form.title if form else "", count, more, list(_paths(example)), mapping)
    if mapping:
        file["mapping"] = "\n".join(f"{name}={column}" for name, column in mapping.items())
    try:
        with transaction.atomic(), first.own_lines():
            latest: dict[Any, int] = {
                model: model.objects.aggregate(last=Max("pk"))["last"] or 0
                for model in (Instance, Pair, Rating, Judgment)
            }
            importing = {"dataset": "", **options, **file, "kind": AUTO if form else look_kind}
            study, look.summary = import_file(**importing, **settings)
            _preview(look, study, latest)
            transaction.set_rollback(True)
    except BadFile as error:
        look.problems = _listed(error)
    except AnnotationError as error:
        look.problems = [(1, "not_imported", str(error))]
    look.problems = tuple(sorted(dict.fromkeys([*look.problems, *unreadable]), key=itemgetter(0)))
    return look


def _guess(records: Sequence[Mapping[str, Any]]) -> tuple[str, dict[str, str]]:
    """Return the kind and the mapping that names of fields suggest, and texts and answers in them. Tandem's own need none."""
    record = records[0] if records else {}
    lower = {name.lower(): name for name in record}
    guess = {
        ours: lower[theirs]
        for ours, names in NAMES.items()
        if ours not in lower and (theirs := next((name for name in names if name in lower), None))
    }
    present = {*guess, *lower}
    are_both = present.issuperset(("system_a", "system_b"))
    if "systems" in guess and str(record[guess["systems"]]).isdigit():
        guess["pair_index"] = guess.pop("systems")
    elif are_both:
        guess.pop("systems", None)
    raters = [name for name, value in record.items() if RATERS.fullmatch(name) and str(value).lower() in ANSWERS]
    if len(raters) > 1:
        guess = {name: guess[name] for name in ("instance_id", *OF_PAIRS) if name in guess}
        guess |= {f"ratings.{name}": name for name in raters}
    elif not present.issuperset(("instance_id", "rater", "rating")) or not (are_both or "systems" in guess):
        guess = {name: guess[name] for name in ("instance_id", "source", "dataset") if name in guess}
        texts = [name for name in _texts(records) if name not in guess.values()]
        if "source" not in present and len(texts) > 2 and not OF_TEXTS.search(texts[0]):
            guess["source"] = texts.pop(0)
        guess |= {f"generations.{name}": name for name in texts}
        if record and "instance_id" not in present:
            guess = {"instance_id": ROW_NUMBER, **guess}
    return kind_of_mapping(guess), guess


def _texts(records: Sequence[Mapping[str, Any]]) -> list[str]:
    """Return the fields that seem to hold texts of systems: by their names, or else by texts of several words."""
    first = records[0] if records else {}
    named = [name for name, value in first.items() if OF_TEXTS.search(name) and isinstance(value, str | list)]
    if len(named) > 1:
        return named
    known = {*NAMES, *(name for ours, names in NAMES.items() if ours not in OF_PAIRS for name in names)}
    return [name for name in first if name in named or (name.lower() not in known and _is_long(name, records))]


def _is_long(name: str, records: Sequence[Mapping[str, Any]]) -> bool:
    """Tell whether a field has texts of several words. Some scripts have no blanks between words."""
    values = [value for record in records if isinstance(value := record.get(name), str)]
    return any(len(value.split()) > 2 or (len(value) > 10 and not value.isascii()) for value in values)


def _paths(record: Mapping[str, Any], prefix: str = "", depth: int = 0) -> Iterator[tuple[str, str]]:
    """Yield the path of each field, as a mapping names it, with an example."""
    for name, value in islice(record.items(), 100):
        if depth < 2 and isinstance(value, list) and value and isinstance(value[0], dict):
            yield from _paths(value[0], f"{prefix}{name}.0.", depth + 1)
        elif depth < 2 and isinstance(value, dict) and value:
            yield from _paths(value, f"{prefix}{name}.", depth + 1)
        else:
            text = value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)
            yield f"{prefix}{name}", text if len(text) <= LONGEST else f"{text[:LONGEST]}…"


def _listed(error: BadFile) -> list[Problem]:
    return [(line.number, line.reason.code, line.text) for line in error.lines]


def _count(joined: Joined) -> tuple[int, bool, list[Problem]]:
    """Return how many records there are, whether there are more, and the lines that can't be read."""
    limit = None if lines.size_of(joined.data) <= MOST_COUNTED else MOST_RECORDS + 1
    records, bad = lines.read_content(joined.data)
    count = sum(1 for _ in islice(records, limit))
    try:
        with joined.own_lines():
            lines.refuse(joined.name, bad)
    except BadFile as error:
        return count, count == limit, _listed(error)
    return count, count == limit, []


def _first_records(joined: Joined) -> Joined:
    """Return the first records of each file, on the lines that they have."""
    if not lines.is_json(joined.data):
        header, rows, _ = lines.read_csv(joined.data)
        text = io.StringIO()
        writer = csv.writer(text)
        writer.writerow(header)
        writer.writerows(list(row.values()) for _, row in islice(rows, MOST_RECORDS))
        return Joined(text.getvalue().encode(), joined.name, joined.starts) if header else joined
    starts = [before for before, _ in joined.starts] or [0]
    parts: list[bytes] = []
    index = count = 0
    for number, record in lines.read_content(joined.data)[0]:
        while index + 1 < len(starts) and number > starts[index + 1]:
            index, count = index + 1, 0
        count += 1
        if count <= MOST_RECORDS:
            parts.extend([b""] * (number - 1 - len(parts)))
            parts.append(json.dumps(record, ensure_ascii=False).encode("utf-8", "surrogatepass"))
        elif index + 1 == len(starts):
            break
    return Joined(b"\n".join(parts), joined.name, joined.starts) if parts else joined


def _preview(look: Look, study: Study, latest: Mapping[Any, int]) -> None:
    """Add the first pairs and rows of what was imported."""
    ratings = Rating.objects.filter(pk__gt=latest[Rating], display__pair__matchup__instance__study=study).order_by("pk")
    judgments = Judgment.objects.filter(pk__gt=latest[Judgment], run__study=study).order_by("pk")
    of_pair = Pair.objects.filter(matchup__instance__study=study).select_related(
        "matchup__instance", "matchup__system_a", "matchup__system_b", "generation_a", "generation_b"
    )
    judged = list(ratings.values_list("display__pair", flat=True)[: 3 * MOST_RECORDS]) or list(
        judgments.values_list("pair", flat=True)[: 3 * MOST_RECORDS]
    )
    pairs = of_pair.filter(pk__gt=latest[Pair]) or of_pair.filter(pk__in=judged) or of_pair
    look.pairs = list(pairs.order_by("pk")[:MOST_PREVIEWED])
    for rating in ratings.select_related("display__assignment__annotator")[:MOST_PREVIEWED]:
        side = {True: "a", False: "b", None: ""}[rating.display.a_is_left]
        code = rating.display.assignment.annotator.code
        look.rows.append(_row(rating.display.pair, rater=code, rating=rating.verdict, shown_first=side))
    for judgment in judgments.select_related("run__judge")[: MOST_PREVIEWED - len(look.rows)]:
        judge = f"judge:{judgment.run.judge.name}"
        look.rows.append(_row(judgment.pair, rater=judge, rating=judgment.verdict, order=judgment.order))
    if look.rows:
        return
    for instance in Instance.objects.filter(study=study, pk__gt=latest[Instance]).order_by("pk")[:MOST_PREVIEWED]:
        texts = instance.generations.select_related("system").order_by("pk")[:10]
        row = {
            "instance_id": instance.instance_id,
            "dataset": instance.dataset,
            "source": instance.source[:LONGEST],
            "generations": {text.system.name: text.text[:LONGEST] for text in texts},
            "gold": instance.gold,
        }
        look.rows.append(row)


def _row(pair: Pair, **answer: Any) -> dict[str, Any]:
    matchup = pair.matchup
    return {
        "instance_id": matchup.instance.instance_id,
        "pair_index": pair.index,
        "system_a": matchup.system_a.name,
        "system_b": matchup.system_b.name,
        **answer,
    }
