"""Import the results of an exported batch from MTurk's requester site."""

import secrets
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime

from django.db import transaction

from annotation.annotators.participants import pseudonym
from annotation.core.files import lines
from annotation.hits.slots import take_free_slot
from annotation.models import (
    Annotator,
    Assignment,
    Batch,
    Channel,
    Consent,
    Display,
    Hit,
    Participant,
    Rating,
    Study,
    Submission,
)
from annotation.models.studies import FirstReason
from annotation.quality.exclusion import reject_assignment
from annotation.questions.questions import MAIN, Answer
from annotation.recruitment.mturk.export import find_batch, rows_of, shown_on
from annotation.recruitment.mturk.sheet import HIT, AskedOfPair, ResultRow, read_results
from annotation.studies.services import find_study, record_import

CHANNEL = "MTurk, by file"
REJECTED = "rejected on MTurk"


@dataclass
class ImportCounts:
    """Numbers of assignments in a results file, by outcome.

    surplus  : stored, but all slots of the HIT were filled
    rejected : stored before, and excluded now
    skipped  : rejected before they were stored, so not stored
    repeated : of a worker who had the HIT before; not stored
    erased   : of a worker whose data were erased; not stored
    """

    added: int = 0
    unchanged: int = 0
    surplus: int = 0
    rejected: int = 0
    skipped: int = 0
    without_consent: int = 0
    repeated: int = 0
    erased: int = 0


@transaction.atomic
def import_results(*, data: bytes, file_name: str, slug: str, name: str, at: datetime) -> ImportCounts:
    """Import a results CSV, whole or not at all; idempotent.

    Each assignment that isn't rejected fills a free slot, if any. One that was imported before and rejected since is
    excluded, and its slot reopened.
    Raises: BadFile listing every invalid line; UnknownStudy; UnknownName; InvalidSelection.
    """
    study = find_study(slug, lock=True)
    batch = find_batch(study, name)
    hits = {hit.key: hit for hit in batch.hits.select_related("batch__study")}
    expected = {row[HIT]: row for row in rows_of(batch).values()}
    asked = AskedOfPair(
        pairs=batch.pairs_per_hit,
        questions=study.questions,
        least=study.first_reason_min_length if study.first_reason == FirstReason.REQUIRED else None,
    )
    rows, bad = read_results(data, file_name, expected=expected, asked=asked)
    lines.refuse(file_name, bad)
    taken = _ResultImporter(study, batch, hits, at).read(rows)
    if taken.added or taken.rejected:
        record_import(
            study=study, kind="mturk-results", name=file_name, data=data, counts=vars(taken), batch=batch.name
        )
    return taken


class _ResultImporter:
    """The import of one file into one batch."""

    def __init__(self, study: Study, batch: Batch, hits: Mapping[str, Hit], at: datetime) -> None:
        self.study, self.hits, self.at = study, hits, at
        self.taken = ImportCounts()
        # Maps workers to raters, and MTurk assignments to ours; it stays shut.
        self.channel, _made = Channel.objects.get_or_create(
            study=study, kind=Channel.Kind.MTURK, name=CHANNEL, defaults={"options": {"site": "live"}}
        )
        of_study = Participant.objects.filter(channel__study=study, channel__kind=Channel.Kind.MTURK)
        self.people = {person.external_id: person for person in of_study.select_related("annotator")}
        self.known = {
            submission.external_id: submission
            for submission in self.channel.submissions.select_related("assignment__annotator")
        }
        had = Assignment.objects.filter(hit__batch=batch)
        self.had = set(had.values_list("hit_id", "annotator_id"))

    def read(self, rows: Sequence[ResultRow]) -> ImportCounts:
        """Store every new row."""
        for row in rows:
            if (submission := self.known.get(row.assignment_id)) is not None:
                self._again(row, submission)
            elif self._is_erased(row):
                self.taken.erased += 1
            elif row.rejected:
                self.taken.skipped += 1
            elif not row.agreed:
                self.taken.without_consent += 1
            else:
                self._store(row)
        return self.taken

    def _is_erased(self, row: ResultRow) -> bool:
        worker, work = pseudonym(self.study, row.worker), pseudonym(self.study, row.assignment_id)
        return worker in self.people or work in self.known

    def _again(self, row: ResultRow, submission: Submission) -> None:
        assignment = submission.assignment
        if row.rejected and assignment is not None and not assignment.excluded:
            reject_assignment(assignment=assignment, reason=REJECTED, reopen=True, by=None, at=self.at)
            submission.state = Submission.State.REJECTED
            submission.save(update_fields=["state"])
            self.taken.rejected += 1
        else:
            self.taken.unchanged += 1

    def _person(self, worker: str) -> Participant:
        if worker not in self.people:
            annotator = Annotator.objects.create(
                study=self.study, kind=Annotator.Kind.MTURK, code=f"r-{secrets.token_hex(4)}", joined_at=self.at
            )
            Consent.objects.create(
                annotator=annotator,
                version=self.study.consent_version,
                text=self.study.consent_text,
                accepted=True,
                answered_at=self.at,
            )
            self.people[worker] = Participant.objects.create(
                channel=self.channel, annotator=annotator, external_id=worker, joined_at=self.at
            )
        return self.people[worker]

    def _store(self, row: ResultRow) -> None:
        hit, person = self.hits[row.hit], self._person(row.worker)
        if (hit.pk, person.annotator_id) in self.had:
            self.taken.repeated += 1
            return
        self.had.add((hit.pk, person.annotator_id))
        when = row.submitted_at or self.at
        assignment = Assignment.objects.create(
            hit=hit,
            annotator=person.annotator,
            state=Assignment.State.SUBMITTED,
            claimed_at=None,
            submitted_at=when,
            work_seconds=row.seconds,
        )
        self._rate(assignment, row)
        self.known[row.assignment_id] = Submission.objects.create(
            channel=self.channel,
            participant=person,
            assignment=assignment,
            external_id=row.assignment_id,
            state=Submission.State.COMPLETED,
            started_at=when,
            ended_at=when,
        )
        self.taken.added += 1
        if not take_free_slot(assignment):
            self.taken.surplus += 1

    def _rate(self, assignment: Assignment, row: ResultRow) -> None:
        displays = shown_on(assignment.hit)
        for display in displays:
            display.assignment = assignment
        Display.objects.bulk_create(displays)
        asks_reasons = self.study.first_reason != FirstReason.OFF
        Rating.objects.bulk_create(
            _rating(display, question, answer, reason if question == MAIN and asks_reasons else "", row)
            for display, answers, reason in zip(displays, row.answers, row.reasons, strict=True)
            for question, answer in enumerate(answers)
        )


def _rating(display: Display, question: int, answer: Answer, reason: str, row: ResultRow) -> Rating:
    """Return an answer by place on the page, where −1 is the text shown first, in study order."""
    said = answer if display.a_is_left else answer.swapped()
    return Rating(
        display=display,
        question=question,
        verdict=said.verdict,
        strength=said.strength,
        tie_kind=said.tie_kind,
        reason=reason,
        rated_at=row.submitted_at,
    )
