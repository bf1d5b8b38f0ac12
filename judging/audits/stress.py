"""Stress tests: pairs, changes of their texts, the judge, and what asking it would take."""

import hashlib
import json
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from decimal import Decimal
from typing import Any

import numpy as np
from django.db import transaction

from analysis.bias.perturbations import PERTURBATIONS
from annotation.core.database.bulk_sql import chunked
from annotation.core.version import VERSION
from annotation.models import Pair, Study
from annotation.questions.questions import MAIN
from judging.calls.cases import Cell
from judging.calls.presentations import AB, BA, IDENTITY_FIELDS, PAIR_FIELDS, identity_of, orders_for, present
from judging.calls.requests import Requests
from judging.core.errors import BadSettings
from judging.jobs.bounds import set_bounds
from judging.methods import AskingMethod, find_method
from judging.models import AuditAnswer, Endpoint, Judge, JudgeAudit, Judgment
from judging.outcomes.tuned import tuned_pairs
from judging.runs.estimates import SAMPLE, RunEstimate, estimate_of_cells
from judging.runs.pair_filters import PairFilter
from judging.runs.services import check, pairs_of, stored_questions

PLAIN = "plain"  # nothing is changed: what the others are compared with
POSITION, AGAIN, IDENTICAL = "position", "again", "identical"
CHANGES = (POSITION, AGAIN, *PERTURBATIONS, IDENTICAL)
AGAIN_REPEAT = 999  # beyond any judge's repeats
TEXT_FIELDS = ("generation_a__text", "generation_b__text")
Status = Judgment.Status
PairRow = tuple[Any, ...]  # primary key, IDENTITY_FIELDS, TEXT_FIELDS


@dataclass(frozen=True)
class StressTest:
    """The settings of a stress test.

    changes  : names of `CHANGES`
    dataset  : only its pairs; all when empty
    pairs    : how many are drawn; None: all
    seed     : draws them, and what is changed; more pairs with the same seed include the fewer
    question : of the study, by number
    """

    study: Study
    judge: Judge
    changes: Sequence[str] = CHANGES
    dataset: str = ""
    pairs: int | None = None
    seed: int = 0
    question: int = MAIN

    def as_audit(self) -> JudgeAudit:
        """Return the audit's row, not stored.

        Raises: BadSettings for a judge that can't be asked
        """
        endpoint = endpoint_of(self.judge)
        check(self.study, self.judge, stored_questions(self.study, [self.question]))
        audit = JudgeAudit(
            study=self.study,
            judge=self.judge,
            question=self.question,
            dataset=self.dataset,
            pairs=self.pairs,
            seed=self.seed,
            changes=[name for name in CHANGES if name in self.changes],
            model=endpoint.model,
            currency=endpoint.currency,
            software_version=VERSION,
        )
        deciding = [audit.question, audit.dataset, audit.pairs, audit.seed, audit.changes]
        audit.settings_key = hashlib.sha256(json.dumps(deciding).encode()).hexdigest()
        return audit


def endpoint_of(judge: Judge) -> Endpoint:
    """Return the endpoint that a judge asks.

    Raises: BadSettings for one that asks no model (a baseline, a jury, verdicts made elsewhere), or is shown stored tables
    """
    if judge.table_variant:
        raise BadSettings(
            f"judge {judge} can't be tested: it uses stored tables, and changed texts have none; test a judge "
            "that creates its own tables"
        )
    if not isinstance(find_method(judge.method), AskingMethod) or judge.endpoint is None:
        raise BadSettings(f"judge {judge} can't be tested: method {judge.method} calls no model")
    return judge.endpoint


def asking_method(audit: JudgeAudit) -> AskingMethod:
    """Return the method of the judge, which asks a model.

    Raises: BadSettings if it asks none
    """
    endpoint_of(audit.judge)
    method = find_method(audit.judge.method)
    if not isinstance(method, AskingMethod):
        raise TypeError(f"{method.name} was found to ask a model")
    return method


def estimate_stress(test: StressTest) -> RunEstimate:
    """Estimate a stress test. Nothing is stored. All changes of the first drawn pairs are in the dry run.

    Raises: as `StressTest.as_audit` and `draw_pairs`
    """
    audit = test.as_audit()
    earlier = stored_like(audit)
    answers = list(planned_answers(audit, draw_pairs(audit)))
    is_open = [Status.PENDING, Status.ERROR]
    filled = set(earlier.answers.exclude(status__in=is_open).values_list("pair_id", "change")) if earlier else set()
    pending = [answer for answer in answers if (answer.pair_id, answer.change) not in filled]
    return estimate_of_cells(
        audit.judge,
        [(cell.repeat, cell.shown) for cell in cells_of(audit, pending[:SAMPLE])],
        Requests(audit.judge, asking_method(audit)),  # which share answers with the judge's runs
        presentations=len(answers),
        pending=len(pending),
        spent=earlier.cost or Decimal(0) if earlier else Decimal(0),
    )


def draw_pairs(audit: JudgeAudit) -> list[PairRow]:
    """Return the pairs of an audit in drawn order, except those of instances that the judge was tuned on.

    Raises: BadSettings if there is none; UnknownName for a data set
    """
    used = set(tuned_pairs(audit.study, audit.judge).tolist())
    pairs = pairs_of(audit.study, None, PairFilter(dataset=audit.dataset)).order_by("pk")
    names = (*IDENTITY_FIELDS, *TEXT_FIELDS)
    free = (row for row in pairs.values_list("pk", *names) if row[0] not in used)
    rows = sorted(free, key=lambda row: _digest(audit.seed, "draw", identity(row)))
    if not rows:
        raise BadSettings(f"{audit.dataset or audit.study} has no pairs to ask judge {audit.judge} about")
    return rows[: audit.pairs]


def identity(row: PairRow) -> str:
    """Return the name of a drawn pair, which is the same in any database."""
    return identity_of(*row[1:])


def planned_answers(audit: JudgeAudit, rows: Iterable[PairRow]) -> Iterator[AuditAnswer]:
    """Yield the answers to be given: each pair as it is, then with each change that can be made to it.

    One text of a pair is changed, drawn for each change; all are shown in the order in which the judge's runs show the pair.
    """
    for row in rows:
        name, texts = identity(row), dict(zip("ab", row[-2:], strict=True))
        orders = orders_for(audit.judge, name)  # one is drawn for a judge that is asked in both
        order = orders[_digest(audit.seed, "order", name)[0] % len(orders)]
        shown_first = "a" if order == AB else "b"
        fields: dict[str, Any] = {"audit": audit, "pair_id": row[0]}
        yield AuditAnswer(**fields, change=PLAIN, order=order, side=shown_first)
        for change in audit.changes:
            if change == POSITION:  # the text that is shown first now
                turned, side = (BA, "b") if order == AB else (AB, "a")
                yield AuditAnswer(**fields, change=change, order=turned, side=side)
                continue
            rng = np.random.default_rng(int.from_bytes(_digest(audit.seed, change, name)[:8]))
            side = "ab"[rng.integers(2)]
            if change in PERTURBATIONS:
                text = PERTURBATIONS[change](texts[side], rng)
            else:
                text = texts["b" if side == "a" else "a"] if change == IDENTICAL else ""
            if text is not None:
                yield AuditAnswer(**fields, change=change, order=order, side=side, text=text)


@transaction.atomic
def start_stress(test: StressTest, *, in_flight: int = 8, max_cost: Decimal | None = None) -> JudgeAudit:
    """Return the audit of a test with its answers to be given, new or as it is. Those that ended in an error are opened.

    One of all pairs gets those that the study has got since.
    max_cost : of the whole audit, its cost so far included, in the endpoint's currency
    Raises: as `StressTest.as_audit` and `draw_pairs`; BadSettings for bounds that can't be kept
    """
    new_audit = test.as_audit()
    Study.objects.select_for_update().get(pk=test.study.pk)
    audit = stored_like(new_audit)
    if audit is None:
        new_audit.save()
        audit = new_audit
    set_bounds(audit, in_flight=in_flight, max_cost=max_cost)
    audit.answers.filter(status=Status.ERROR).update(status=Status.PENDING, failure="", judged_at=None)
    if audit is new_audit or audit.pairs is None:  # answers that are there stay
        planned = planned_answers(audit, draw_pairs(audit))
        AuditAnswer.objects.bulk_create(planned, batch_size=500, ignore_conflicts=True)
    return audit


def stored_like(audit: JudgeAudit) -> JudgeAudit | None:
    """Return the stored audit with the same settings."""
    of_judge = ("judge__endpoint", "judge__table_endpoint", "judge__prompt_file")
    related = JudgeAudit.objects.select_related("study", *of_judge)
    return related.filter(study=audit.study, judge=audit.judge, settings_key=audit.settings_key).first()


def cells_of(audit: JudgeAudit, answers: Sequence[AuditAnswer]) -> Iterator[Cell]:
    """Yield the cells of some answers: what is shown, and which sample of the endpoint's answers is taken."""
    question = audit.study.questions[audit.question]
    rows: dict[int, tuple[Any, ...]] = {}
    for part in chunked(sorted({answer.pair_id for answer in answers})):
        rows |= {pk: tuple(row) for pk, *row in Pair.objects.filter(pk__in=part).values_list("pk", *PAIR_FIELDS)}
    for planned in answers:
        *fields, _messages_a, _messages_b, text_a, text_b = rows[planned.pair_id]
        if planned.change in PERTURBATIONS or planned.change == IDENTICAL:
            text_a, text_b = (planned.text, text_b) if planned.side == "a" else (text_a, planned.text)
        # Without messages, so that a changed transcript names its speakers as the other one does.
        texts = (*fields, None, None, text_a, text_b)
        presentation = present(audit.judge, texts, question=question, order=planned.order)
        yield Cell(planned.pk or 0, planned.order, AGAIN_REPEAT if planned.change == AGAIN else 0, presentation)


def _digest(*parts: object) -> bytes:
    return hashlib.sha256("\x00".join(map(str, parts)).encode("utf-8", "surrogatepass")).digest()
