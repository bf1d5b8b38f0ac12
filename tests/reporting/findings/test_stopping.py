"""Stop rules: a batch closes itself when its findings hold, and its votes stay a sequence."""

from datetime import timedelta
from decimal import Decimal
from typing import Any

import pytest
from django.db import OperationalError

from annotation.batches.forms import CreateBatch
from annotation.batches.stop_rules import StopRule
from annotation.core.errors import ClaimRefused, InvalidSelection
from annotation.models import Annotator, Batch, Study
from reporting.findings import stopping
from reporting.findings.stopping import stop_settled_batches, why_settled
from reporting.findings.study_findings import findings
from tests.factories import claim, make_annotator, make_batch, make_study, rate

pytestmark = pytest.mark.django_db


@pytest.mark.parametrize(
    ("text", "rule"),
    [
        ("decided", StopRule("decided")),
        ("width:0.1", StopRule("width", Decimal("0.1"))),
        (" judge:gpt-4.1 ", StopRule("judge", judge="gpt-4.1")),
        ("budget:99.50", StopRule("budget", Decimal("99.50"))),
    ],
)
def test_rules_are_read(text: str, rule: StopRule) -> None:
    assert StopRule.parse(text) == rule


@pytest.mark.parametrize(
    "text", ["", "decided:1", "width", "width:0", "width:1", "width:nan", "judge:", "budget:-1", "x"]
)
def test_other_rules_are_refused(text: str) -> None:
    with pytest.raises(InvalidSelection, match="Allowed"):
        StopRule.parse(text)


def study_with(rule: str, choices: str, *, instances: int = 40, **settings: Any) -> tuple[Study, Batch]:
    """A batch on which one person rated: `a` for each vote for system A, `t` for a tie."""
    study = make_study(instances=instances, k=1, **settings)
    batch = make_batch(study, pairs=1, raters=1, stop_rule=rule)
    vote(make_annotator(study, "ann"), choices)
    return study, batch


def vote(annotator: Annotator, choices: str) -> None:
    for choice in choices:
        assignment = claim(annotator)
        side = "left" if assignment.displays.get().a_is_left else "right"
        rate(assignment, side if choice == "a" else "none")


def test_a_decided_batch_closes_itself_and_says_why() -> None:
    study, batch = study_with("decided", "aaaa")
    looked_at: dict[int, int] = {}
    stop_settled_batches(looked_at)
    batch.refresh_from_db()
    assert (batch.status, looked_at) == (Batch.Status.OPEN, {batch.pk: 4})
    late = claim(make_annotator(study, "late"))
    vote(Annotator.objects.get(user__username="ann"), "a" * 16)
    stop_settled_batches(looked_at)
    batch.refresh_from_db()
    assert batch.status == Batch.Status.CLOSED
    assert study.events.get(kind="closed").reason.startswith("Stop rule decided: alpha wins 100.0%")
    with pytest.raises(ClaimRefused):
        claim(make_annotator(study, "next"))
    rate(late)  # what was begun counts
    found = findings(study, rounds=1)
    assert found["rankings"][0]["systems"][0]["n"] == 21
    assert found["horizon"] == 20  # looked at on the way, and so a sequence still


def test_equal_votes_do_not_stop_a_batch() -> None:
    _, batch = study_with("decided", "t" * 30)
    assert why_settled(batch) == ""


def test_a_budget_is_not_exceeded() -> None:
    _, batch = study_with("budget:5", "a" * 4, pay_per_hit=Decimal(1), currency="EUR")
    assert why_settled(batch) == ""
    _, spent = study_with("budget:4.5", "a" * 4, slug="spent", pay_per_hit=Decimal(1), currency="EUR")
    assert "4" in why_settled(spent)


@pytest.mark.parametrize(("rule", "codes"), [("decided", []), ("soon", ["stop_rule"])])
def test_the_form_checks_the_rule(rule: str, codes: list[str]) -> None:
    study = make_study()
    data = {"name": "b", "dataset": "news", "systems": ["alpha", "beta"], "pairs": 2, "raters": 1, "stop_rule": rule}
    form = CreateBatch(data, study=study)
    form.is_valid()
    assert list(form.errors) == codes


def test_one_batch_that_fails_keeps_no_other_open(monkeypatch: pytest.MonkeyPatch) -> None:
    study, settled = study_with("decided", "a" * 20)
    failing = make_batch(study, name="failing", pairs=1, raters=2, stop_rule="width:0.5")
    Batch.objects.filter(pk=failing.pk).update(created_at=settled.created_at - timedelta(days=1))
    why = stopping.why_settled

    def fail(batch: Batch) -> str:
        if batch.pk == failing.pk:
            raise RuntimeError("these findings fail")
        return why(batch)

    monkeypatch.setattr(stopping, "why_settled", fail)
    rate(claim(make_annotator(study, "other")))
    stop_settled_batches({})
    statuses = dict(Batch.objects.values_list("name", "status"))
    assert statuses == {"batch": Batch.Status.CLOSED, "failing": Batch.Status.OPEN}


def test_a_look_that_a_locked_database_broke_off_is_made_again(monkeypatch: pytest.MonkeyPatch) -> None:
    _, batch = study_with("decided", "a" * 20)
    looked_at: dict[int, int] = {}

    def lock(batch: Batch) -> str:
        raise OperationalError("database is locked")

    with monkeypatch.context() as patch:
        patch.setattr(stopping, "why_settled", lock)
        stop_settled_batches(looked_at)
    stop_settled_batches(looked_at)
    batch.refresh_from_db()
    assert batch.status == Batch.Status.CLOSED


def test_claims_alone_close_no_batch() -> None:
    study, batch = study_with("budget:2.5", "a", pay_per_hit=Decimal(1), currency="EUR")
    for name in ("one", "two", "three"):
        claim(make_annotator(study, name))
    assert why_settled(batch) == ""
