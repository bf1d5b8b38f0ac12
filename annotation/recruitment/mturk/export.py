"""Export a batch for Mechanical Turk's requester site: a CSV and the page template that it fills."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from django.template.loader import render_to_string
from django.utils.html import escape
from django.utils.safestring import SafeString, mark_safe

from annotation.core.errors import InvalidSelection, UnknownName
from annotation.core.markdown import render, shown_text
from annotation.hits.displays import derived_seed, draw_displays
from annotation.models import Assignment, Batch, Display, Hit, Pair, Study
from annotation.questions.answer_codes import codes_of, column_of
from annotation.questions.labels import translate_default
from annotation.questions.questions import LONGEST_REASON, Question
from annotation.recruitment.mturk.sheet import FIRST, HIT, ORDER, SECOND, SOURCE, cell, columns, guard, write_sheet

LONGEST_PAGE = 65_535  # bytes that MTurk takes for the page of one HIT
PAGE = "annotation/recruitment/mturk/template.html"


@dataclass(frozen=True)
class Sheet:
    """An exported batch; `too_long` lists HITs whose page is larger than MTurk allows."""

    csv: bytes
    page: bytes
    hits: int
    assignments: int
    seed: int
    too_long: list[str]


def find_batch(study: Study, name: str) -> Batch:
    """Return a study's batch that can be rated on MTurk's own pages.

    Raises: UnknownName; InvalidSelection saying why it can't.
    """
    batch = study.batches.filter(name=name).select_related("study").first()
    if batch is None:
        raise UnknownName(f"study {study.slug} has no batch {name!r}")
    problems = {
        "its ratings were imported": batch.origin != Batch.Origin.COLLECTED,
        "it is for a qualification or hidden checks": batch.purpose != Batch.Purpose.RATING,
        "a second stage can't be shown there": study.is_two_stage,
        # Otherwise its slots would be offered both here and there.
        "it is open, and rated here; pause it first": batch.status == Batch.Status.OPEN,
    }
    if found := [problem for problem, there in problems.items() if there]:
        raise InvalidSelection(f"batch {name} can't be rated on MTurk's pages: {'; '.join(found)}")
    return batch


def export_batch(*, study: Study, name: str) -> Sheet:
    """Export a batch's HITs with free slots; rows are reproducible.

    Raises: as `find_batch`.
    """
    batch = find_batch(study, name)
    free = {hit.pk: sum(slot.assignment_id is None for slot in hit.slots.all()) for hit in _hits(batch)}
    rows = [row for pk, row in rows_of(batch).items() if free[pk]]
    if not rows:
        raise InvalidSelection(f"batch {name} has no free slot left")
    page = page_of(study, batch.pairs_per_hit)
    return Sheet(
        csv=write_sheet(rows, columns(batch.pairs_per_hit)),
        page=page.encode(),
        hits=len(rows),
        assignments=max(free.values()),
        seed=batch.seed,
        too_long=[row[HIT] for row in rows if len(fill(page, row).encode()) > LONGEST_PAGE],
    )


def _hits(batch: Batch) -> list[Hit]:
    hits = batch.hits.select_related("batch__study", "matchup__instance").prefetch_related("slots")
    return list(hits.order_by("position"))


def shown_on(hit: Hit) -> list[Display]:
    """Draw the displays that all workers of a HIT share, from the batch's seed: a row of the file is one layout."""
    seed = derived_seed(hit.batch.seed, "mturk", hit.key)
    return sorted(draw_displays(Assignment(hit=hit, seed=seed)), key=lambda display: display.position)


def rows_of(batch: Batch) -> dict[int, dict[str, str]]:
    """Return HIT's primary key → its row, in the order of the queue."""
    texts = {
        pair.pk: (pair.generation_a.text, pair.generation_b.text)
        for pair in Pair.objects.filter(hits__batch=batch).select_related("generation_a", "generation_b")
    }
    return {hit.pk: _row(hit, texts) for hit in _hits(batch)}


def _row(hit: Hit, texts: Mapping[int, tuple[str, str]]) -> dict[str, str]:
    row = {HIT: hit.key, SOURCE: _shown(hit.matchup.instance.source, hit.batch.study)}
    for place, display in enumerate(shown_on(hit), start=1):
        text_a, text_b = texts[display.pair_id]
        first, second = (text_a, text_b) if display.a_is_left else (text_b, text_a)
        for column, text in ((FIRST, first), (SECOND, second)):
            row[column.format(place)] = _shown(text, hit.batch.study)
        row[ORDER.format(place)] = (
            "1" if display.a_is_left else "2"
        )  # the system of the first text, which the page doesn't use
    return row


def _shown(text: str, study: Study) -> str:
    shown = shown_text(text, **study.text_options)
    return guard(shown) if isinstance(shown, SafeString) else cell(shown)


def page_of(study: Study, pairs: int) -> str:
    """Return the page template, with a placeholder for each text."""
    left, right = study.side_labels
    context = {
        "study": study,
        "questions": [_question(study, question) for question in study.questions],
        "first_reason": study.first_reason,
        "longest_reason": LONGEST_REASON,
        "source_label": _fixed(translate_default(study.source_label)),
        "label_left": _fixed(left),
        "label_right": _fixed(right),
        "contact": _fixed(study.contact),
        "warning": _words(study.content_warning),
        "guidelines": _words(study.guidelines),
        "consent": _words(study.consent_text),
        "source": _placeholder(SOURCE),
        "pairs": [
            (place, _placeholder(FIRST.format(place)), _placeholder(SECOND.format(place)))
            for place in range(1, pairs + 1)
        ],
    }
    return render_to_string(PAGE, context)


def _question(study: Study, question: Question) -> dict[str, Any]:
    """Return what the page shows of a question; its field's name is `prefJ` with this ending."""
    labels = question.labels(*study.side_labels)
    return {
        "ending": column_of("", question),
        "text": _fixed(translate_default(question.text)),
        "description": _fixed(question.description),
        "choices": [(code, _fixed(labels[choice])) for choice, code in codes_of(question).items()],
    }


def fill(page: str, row: Mapping[str, str]) -> str:
    """Fill a row into the page template, as MTurk does."""
    for name, value in row.items():
        page = page.replace(_placeholder(name), value)
    return page


def _placeholder(name: str) -> SafeString:
    return mark_safe(f"${{{name}}}")  # noqa: S308  # a name of our own


def _fixed(words: str) -> SafeString:
    return mark_safe(escape(words).replace("$", "&#36;"))  # noqa: S308  # escaped


def _words(markdown: str) -> SafeString:
    return mark_safe(render(markdown).replace("$", "&#36;")) if markdown.strip() else mark_safe("")  # noqa: S308  # rendered safely
