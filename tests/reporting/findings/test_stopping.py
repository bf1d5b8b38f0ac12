"""Stop rules: a batch closes itself when its findings hold, and its votes stay a sequence."""

from collections.abc import Callable
from datetime import timedelta
from decimal import Decimal
from typing import Any

import pytest
from django.contrib.auth.models import User
from django.db import OperationalError
from django.urls import reverse
from django.utils import timezone

from annotation.batches.forms import BatchForm, CreateBatch
from annotation.batches.services import notices_of, set_batch_status
from annotation.batches.stop_rules import NO_RULE, StopRule
from annotation.core.errors import AmendmentNeeded, ClaimRefused, InvalidSelection
from annotation.models import Annotator, Batch, Mail, RoleGrant, Study
from annotation.planning.frozen_plans import freeze_plan
from annotation.recruitment.invitations import COMPOSERS
from reporting.findings import stopping
from reporting.findings.stopping import stop_settled_batches, why_settled
from tests.factories import (
    api_of,
    claim,
    make_annotator,
    make_batch,
    make_study,
    make_user,
    output_of,
    rate,
    signed_in,
)
from tests.reporting.builders import findings

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
    looked_at: dict[tuple[int, str], int] = {}
    stop_settled_batches(looked_at)
    batch.refresh_from_db()
    assert (batch.status, looked_at) == (Batch.Status.OPEN, {(batch.pk, "decided"): 4})
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


def test_a_budget_is_not_exceeded() -> None:
    study, batch = study_with("budget:5", "a" * 2, pay_per_hit=Decimal(1), currency="EUR")
    for name in ("one", "two", "three"):
        claim(make_annotator(study, name))  # claims alone close no batch
    assert why_settled(batch) == ""
    _, tied = study_with("decided", "t" * 30, slug="tied")
    assert why_settled(tied) == ""
    _, spent = study_with("budget:4.5", "a" * 4, slug="spent", pay_per_hit=Decimal(1), currency="EUR")
    assert "4" in why_settled(spent)


@pytest.mark.parametrize(
    ("rule", "codes"),
    [("decided", []), ("soon", ["stop_rule"]), ("judge:nobody", ["stop_rule"]), ("budget:5", ["stop_rule"])],
)
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
    looked_at: dict[tuple[int, str], int] = {}

    def lock(batch: Batch) -> str:
        raise OperationalError("database is locked")

    with monkeypatch.context() as patch:
        patch.setattr(stopping, "why_settled", lock)
        stop_settled_batches(looked_at)
    stop_settled_batches(looked_at)
    batch.refresh_from_db()
    assert batch.status == Batch.Status.CLOSED


def by_page(batch: Batch, **change: str) -> None:
    client = signed_in(make_user("admin", "study-admin", study=batch.study))
    path = reverse("annotation:batch-status", args=[batch.study.slug, batch.pk])
    assert client.post(path, change).status_code == 302


def by_api(batch: Batch, **change: str) -> None:
    client = api_of(make_user("admin", "study-admin", study=batch.study))
    answer = client.post(f"/api/v1/batches/{batch.pk}/status/", change, format="json")
    assert (answer.status_code, len(answer.json()["notices"])) == (200, 1)


def by_command(batch: Batch, **change: str) -> None:
    options = [part for name, value in change.items() for part in (f"--{name.replace('_', '-')}", value)]
    assert "frozen plan" in output_of("set_batch", batch.study.slug, "--batch", batch.name, *options)


@pytest.mark.parametrize("change", [by_page, by_api, by_command])
@pytest.mark.parametrize(("before", "rule"), [("", "width:0.2"), ("decided", "width:0.2"), ("decided", NO_RULE)])
def test_three_doors_change_the_rule_of_a_running_batch(change: Callable[..., None], before: str, rule: str) -> None:
    study = make_study(instances=3, k=1)
    freeze_plan(study=study, content={"stop_rule": "budget:5"})
    batch = make_batch(study, pairs=1, raters=1, stop_rule=before)
    change(batch, stop_rule=rule, reason="money is short")
    batch.refresh_from_db()
    after = "" if rule == NO_RULE else rule
    event = study.events.get(kind="amendment")
    assert (batch.stop_rule, batch.status, event.reason) == (after, Batch.Status.OPEN, "money is short")
    assert event.changes == {"stop_rule": [before, after], "planned": "budget:5"}
    assert len(notices_of(batch)) == 1


def test_a_new_batch_begins_with_the_plan() -> None:
    study = make_study(instances=3, k=2)
    freeze_plan(study=study, content={"stop_rule": "budget:5", "pairs": 2, "raters": 4})
    initial = BatchForm(study=study).initial
    assert [initial[name] for name in ("stop_rule", "pairs", "raters")] == ["budget:5", 2, 4]


def test_a_rule_that_could_never_hold_is_refused() -> None:
    study, batch = study_with("", "aaaa", pay_per_hit=Decimal(1), currency="EUR")
    for rule in ("judge:nobody", "budget:4.5"):
        with pytest.raises(InvalidSelection):
            set_batch_status(batch=batch, stop_rule=rule)
    with pytest.raises(AmendmentNeeded):
        set_batch_status(batch=batch, stop_rule="budget:5")
    set_batch_status(batch=batch, stop_rule="budget:5", reason="more money")
    assert study.batches.get().stop_rule == "budget:5"


@pytest.mark.parametrize(("rule", "named"), [("bad:1", ["stop_rule"]), ("decided", ["__all__"])])
def test_the_page_shows_a_refused_rule_again(rule: str, named: list[str]) -> None:
    study, batch = study_with("", "a")
    client = signed_in(make_user("admin", "study-admin", study=study))
    answer = client.post(reverse("annotation:batch-status", args=[study.slug, batch.pk]), {"stop_rule": rule})
    form = answer.context["form"]
    assert (answer.status_code, list(form.errors), form["stop_rule"].value()) == (422, named, rule)


@pytest.mark.parametrize(("rule", "choices"), [("budget:4.5", "aaaa"), ("decided", "a" * 20)])
def test_a_batch_that_its_rule_closed_is_opened_with_another_one_only(rule: str, choices: str) -> None:
    _, batch = study_with(rule, choices, pay_per_hit=Decimal(1), currency="EUR")
    stop_settled_batches({})
    for same in ("", rule):
        with pytest.raises(InvalidSelection):
            set_batch_status(batch=batch, status="open", stop_rule=same)
    set_batch_status(batch=batch, status="open", stop_rule="budget:30", reason="more money")
    stop_settled_batches({})
    batch.refresh_from_db()
    assert (batch.status, batch.stop_rule) == (Batch.Status.OPEN, "budget:30")


def test_a_rule_written_otherwise_is_the_same_rule() -> None:
    _, batch = study_with("width:0.1", "a")
    set_batch_status(batch=batch, status="closed", is_settled=True)
    with pytest.raises(InvalidSelection, match="again"):
        set_batch_status(batch=batch, status="open", stop_rule="width:0.10", reason="again")


def test_researchers_are_told(settings: Any) -> None:
    settings.MAIL_ON = True
    study, _ = study_with("decided", "a" * 20)
    for name, role in (("ada", "study-admin"), ("ron", "researcher"), ("ann2", "annotator"), ("mute", "researcher")):
        user = make_user(name, role, study=study)
        user.email = "" if name == "mute" else f"{name}@example.org"
        user.save()
    stop_settled_batches({})
    assert sorted(Mail.objects.values_list("kind", "address")) == [
        ("stopped", "ada@example.org"),
        ("stopped", "ron@example.org"),
    ]
    mail = Mail.objects.all()[0]
    subject, text = COMPOSERS[mail.kind](mail, timezone.now()) or ("", "")
    assert "batch" in subject
    assert "Stop rule decided: alpha wins 100.0%" in text
    page = signed_in(Mail.objects.all()[0].user).get(reverse("annotation:study", args=[study.slug]))
    assert [event.batch.name for event in page.context["stopped"]] == ["batch"]
    set_batch_status(batch=study.batches.get(), status="open", stop_rule=NO_RULE, reason="too early")
    set_batch_status(batch=study.batches.get(), status="closed")
    page = signed_in(Mail.objects.all()[0].user).get(reverse("annotation:study", args=[study.slug]))
    assert not page.context["stopped"]
    RoleGrant.objects.filter(user__username="ron").delete()
    User.objects.filter(username="ada").update(is_active=False)
    assert [COMPOSERS[mail.kind](mail, timezone.now()) for mail in Mail.objects.all()] == [None, None]


def test_a_rule_that_was_dropped_has_looked_all_the_same() -> None:
    study, batch = study_with("decided", "a" * 40)
    set_batch_status(batch=batch, stop_rule=NO_RULE, reason="too slow")
    assert findings(study, rounds=1)["horizon"] == 20
