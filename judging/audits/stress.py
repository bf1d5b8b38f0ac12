"""Stress tests: pairs, changes of their texts, and the judge."""

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
from judging.core.errors import BadSettings
from judging.jobs.bounds import set_bounds
from judging.methods import AskingMethod, Presentation, find_method
from judging.models import AuditAnswer, Endpoint, Judge, JudgeAudit, Judgment
from judging.outcomes.tuned import tuned_pairs
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
        order = order_of(audit, name)
        shown_first = "a" if order == AB else "b"
        fields: dict[str, Any] = {"audit": audit, "pair_id": row[0]}
        yield AuditAnswer(**fields, change=PLAIN, order=order, side=shown_first)
        for change in audit.changes:
            if change == POSITION:  # the text that is shown first now
                yield AuditAnswer(
                    **fields, change=change, order=BA if order == AB else AB, side="b" if order == AB else "a"
                )
                continue
            rng = np.random.default_rng(int.from_bytes(_digest(audit.seed, change, name)[:8]))
            side = "ab"[rng.integers(2)]
            if change in PERTURBATIONS:
                text = PERTURBATIONS[change](texts[side], rng)
            else:
                text = texts["b" if side == "a" else "a"] if change == IDENTICAL else ""
            if text is not None:
                yield AuditAnswer(**fields, change=change, order=order, side=side, text=text)


def order_of(audit: JudgeAudit, name: str) -> str:
    """Return the order in which an audit shows a pair, drawn for a judge that is asked in both."""
    orders = orders_for(audit.judge, name)
    return orders[_digest(audit.seed, "order", name)[0] % len(orders)]


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
    if audit is new_audit or audit.pairs is None:
        plan(audit, draw_pairs(audit))
    return audit


def stored_like(audit: JudgeAudit) -> JudgeAudit | None:
    """Return the stored audit with the same settings."""
    related = JudgeAudit.objects.select_related(
        "study", "judge__endpoint", "judge__table_endpoint", "judge__prompt_file"
    )
    return related.filter(study=audit.study, judge=audit.judge, settings_key=audit.settings_key).first()


def plan(audit: JudgeAudit, rows: Iterable[PairRow]) -> None:
    """Store the answers to be given on drawn pairs. Those that are there stay."""
    AuditAnswer.objects.bulk_create(planned_answers(audit, rows), batch_size=500, ignore_conflicts=True)


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
        presentation: Presentation = present(
            # Without messages, so that a changed transcript names its speakers as the other one does.
            audit.judge,
            (*fields, None, None, text_a, text_b),
            question=question,
            order=planned.order,
        )
        yield Cell(planned.pk or 0, planned.order, AGAIN_REPEAT if planned.change == AGAIN else 0, presentation)


def _digest(*parts: object) -> bytes:
    return hashlib.sha256("\x00".join(map(str, parts)).encode("utf-8", "surrogatepass")).digest()
