"""Answers to a further question change nothing that is about the main one: no page, command, file or list."""

import contextlib
import io
import json
import re
from collections.abc import Callable
from typing import Any

import pytest
from django.core.management import call_command
from django.test import Client
from django.utils import timezone

from annotation.models import Assignment, Display, Instance, Rating, Study, VoteChange
from annotation.monitoring.batch_status import batch_status
from annotation.questions.questions import Answer
from annotation.studies.configurations import configurations
from judging.models import JudgeRun, Judgment
from judging.review.comparing import PEOPLE, compare, votes_on
from reporting.exports.rows import history_rows, rating_rows
from tests.factories import ask_more, criterion, make_user
from tests.reporting.builders import (
    Built,
    answer_too,
    build_configuration,
    build_study,
    judge,
    rate,
    separate,
)

pytestmark = [pytest.mark.django_db, pytest.mark.slow]
VERDICTS = {"ann": (-1, 1, 0, -1), "bob": (-1, -1, 1, 0), "cleo": (1, -1, 0, 0)}


@pytest.fixture
def built(db: None) -> Built:
    """A two-stage study with gold, tables, checks, a judge in both orders and separability, which asks two questions."""
    study = ask_more(build_study("both"), criterion("fluency", strength=True, tie_kinds=True), strength=True)
    Study.objects.filter(pk=study.pk).update(protocol="two-stage", arms=["none", "table:c8"])
    made = build_configuration(Study.objects.get(pk=study.pk), instances=4, pairs=2)
    separate(made, [(0.5, 0.6, place / 10) for place in range(4)], [0.9, 0.1, 0.4, 0.6])
    for matchup, better in zip(made.matchups, ("first-system", "second-system", "tie", "first-system"), strict=True):
        Instance.objects.filter(pk=matchup.instance_id).update(gold={"better": better})
    for code, verdicts in VERDICTS.items():
        for place, verdict in enumerate(verdicts):
            _rate_twice(made, place, code, verdict)
    rate(made, 0, "dora", [1, 1], state="returned", fills_slot=False)
    cells = [(place, pair, order, (place % 3) - 1) for place in range(4) for pair in (0, 1) for order in ("ab", "ba")]
    judge(made, "direct", cells, order="both")
    return made


def _rate_twice(built: Built, place: int, code: str, verdict: int) -> None:
    given = rate(built, place, code, [verdict, -verdict], a_is_left=[True, False], active_seconds=3.0 + place)
    arm = "none" if code == "ann" else "table:c8"
    Assignment.objects.filter(pk=given.pk).update(arm=arm)
    for display in given.displays.all():
        Rating.objects.create(display=display, stage="revised", verdict=-1, arm=arm, reason="So.", active_seconds=2)
        _changed(display, 0, Answer(verdict))


def _changed(display: Display, question: int, answer: Answer) -> None:
    VoteChange.objects.create(
        display=display,
        stage="first",
        question=question,
        verdict=answer.verdict,
        strength=answer.strength,
        tie_kind=answer.tie_kind,
        received_at=timezone.now(),
    )


def add_criterion(built: Built) -> None:
    """Let everybody, and the judge in a run of its own, answer the further question; not as they did the main one."""
    for assignment in Assignment.objects.all():
        answers = [Answer(0, tie_kind="good"), Answer(1, strength=2)]
        answer_too(assignment, answers)
        for display, answer in zip(assignment.displays.order_by("position"), answers, strict=True):
            _changed(display, 1, answer)
    run = JudgeRun.objects.create(
        study=built.study, judge=built.study.judge_runs.get().judge, status="done", questions=[1]
    )
    Judgment.objects.bulk_create(
        Judgment(run=run, pair=pair, order=order, question=1, status="parsed", verdict=1)
        for pairs in built.pairs
        for pair in pairs
        for order in ("ab", "ba")
    )


def printed(*arguments: str) -> str:
    out = io.StringIO()
    with contextlib.redirect_stdout(out):
        call_command(*arguments, stdout=out)
    return out.getvalue()


COMMANDS = [
    *(("findings", "both", "--format", form) for form in ("json", "text")),
    *(("table_effect", "both", "--format", form, "--reasons") for form in ("json", "text")),
    *(("judge_accuracy", "both", "--format", form) for form in ("json", "text", "csv", "latex")),
    *(("separability_advice", "both", "--format", form) for form in ("json", "text")),
    ("plan", "both", "--width", "0.1", "--format", "json"),
]
PAGES = [
    *("findings/", "findings.json", "distinguishable/", "distinguishable.json", "accuracy/", "accuracy.json"),
    *("table-effect/", "table-effect.json", "plan/", "reports/", "judges/compare/?first=direct&second=@people"),
    *("charts/pooled-consistency.svg", "charts/consistency-by-bin.svg?dataset=news&a=first-system&b=second-system"),
    *("charts/mean-consistency.svg?dataset=news&a=first-system&b=second-system", "payments.csv"),
]
LISTS = ["ratings", "history", "assignments", "annotators", "batches", "hits", "pairs", "instances"]


def page(client: Client, address: str) -> str:
    response = client.get(address, headers={"HX-Request": "true"} if "figures" in address else {})
    assert response.status_code == 200, (address, response.content[:300])
    content = b"".join(response.streaming_content) if response.streaming else response.content
    text = re.sub(r'(csrfmiddlewaretoken" value|X-CSRFToken&quot;: &quot;|nonce)=?"?[\w-]+', "", content.decode())
    return re.sub(r"As of <time.*?</time>\.", "", text)  # when findings were computed


def everything(built: Built, client: Client) -> dict[str, Any]:
    """Record whatever shows numbers of the main question."""
    at = timezone.now().replace(year=2030, month=1, day=1, hour=0, minute=0, second=0, microsecond=0)
    about = [pair.pk for pairs in built.pairs for pair in pairs]
    compared = compare(built.study, built.study.judge_runs.first().judge, PEOPLE)  # type: ignore[union-attr]
    raters = [one.pk for one in built.study.annotators.order_by("code")]
    batch = f"/studies/both/batches/{built.batch.pk}/"
    return {
        **{" ".join(arguments): printed(*arguments) for arguments in COMMANDS},
        **{address: page(client, f"/studies/both/{address}") for address in PAGES},
        **{address: page(client, batch + address) for address in ("", "figures/")},
        **{f"rater {place}": page(client, f"/studies/both/raters/{pk}/") for place, pk in enumerate(raters)},
        "batch_status": batch_status(built.batch, at).as_json(),
        "compared": (compared.counts, compared.agreement, compared.per_vote, compared.order.tolist()),
        "votes": votes_on(built.study, about),
        "configurations": [str(one) for one in configurations(built.study)],
        **{f"{name}.rows": _main(rows(built.study)) for name, rows in FILES.items()},
        **{f"api {name}": _listed(client, name) for name in LISTS},
    }


FILES: dict[str, Callable[[Study], Any]] = {"ratings": rating_rows, "history": history_rows}


def _main(rows: Any) -> list[dict[str, Any]]:
    return [row for row in rows if row["question"] == "overall"]


def _listed(client: Client, name: str) -> Any:
    query = {"question": "overall"} if name in ("ratings", "history") else {}
    return client.get(f"/api/v1/{name}/", {"study": "both", **query}).json()


@pytest.mark.weekly
def test_a_further_criterion_changes_nothing_about_the_main_question(built: Built, client: Client) -> None:
    client.force_login(make_user("admin", "study-admin"))
    before = everything(built, client)
    assert json.loads(before["findings both --format json"])["filters"]["question"] == "overall"
    assert len(before["ratings.rows"]) == 50

    add_criterion(built)

    after = everything(built, client)
    assert Rating.objects.for_question(1).count() == 26
    for name, shown in before.items():
        assert after[name] == shown, name
