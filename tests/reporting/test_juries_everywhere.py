"""A jury stands wherever its members stand: on every page and in every export and answer of the API that names them."""

from collections.abc import Iterator
from contextlib import suppress

import pytest
from django.contrib.auth.models import User
from django.test import Client
from django.urls import NoReverseMatch, reverse

from annotation.models import Instance, Study
from judging.runs.juries import add_jury
from reporting.logic.audits import kept_audit
from tests.reporting.builders import build_configuration, build_study, findings, judge, rate
from tests.routes import Route, routes

pytestmark = pytest.mark.slow  # asks for every address of a study
MEMBERS = ("abel", "berta", "carlo")
JURY = "the-panel"
OF_NO_STUDY = {"api:docs", "api:schema"}
# What was asked, and who can be: a jury asks nothing.
OF_CALLS = {"api:judgment-list", "judging:tunings"}


@pytest.fixture(scope="module")
def panelled(module_rows: None) -> Study:
    """Three instances of two pairs, votes by three people, three judges asked in both orders, and their jury."""
    study = build_study("panelled")
    built = build_configuration(study, instances=3, pairs=2)
    for place in range(3):
        for code in ("ann", "bob", "cem"):
            rate(built, place, code, [-1, 1])
    for number, name in enumerate(MEMBERS):
        cells = [
            (place, pair, order, (-1 if pair == 0 else 1) * (-1 if place == number else 1))
            for place in range(3)
            for pair in range(2)
            for order in ("ab", "ba")
        ]
        judge(built, name, cells, order="both")
    Instance.objects.filter(study=study).update(gold={"better": "first-system"})
    add_jury(study=study, name=JURY, members=MEMBERS, rule="majority")
    return study


def addresses(study: Study) -> Iterator[tuple[Route, str]]:
    """List all addresses of a study that take no more than its slug, a run, a judge or a kind of export."""
    run = study.judge_runs.get(judge__name="abel")
    known = {"slug": "panelled", "run_id": run.pk, "form": "json", "kind": "judgments", "name": JURY, "pk": run.pk}
    for route in routes():
        if (
            "GET" in route.methods
            and route.address.startswith(("/studies/", "/api/"))
            and set(route.arguments) <= set(known)
            and route.name not in OF_NO_STUDY
        ):
            with suppress(NoReverseMatch):  # a chart, asked for below
                yield route, reverse(route.name, kwargs={name: known[name] for name in route.arguments})


@pytest.mark.weekly
def test_where_members_stand_the_jury_stands_too(panelled: Study, client: Client) -> None:
    root = User.objects.create_superuser("root")
    client.force_login(root, backend="annotation.members.signed_in.AccountBackend")
    naming, lacking = set(), set()
    for route, address in addresses(panelled):
        answer = client.get(address, {"first": "abel", "second": "@people"} if route.name == "judging:compare" else {})
        body = b"".join(answer.streaming_content) if answer.streaming else answer.content
        assert answer.status_code < 500, address
        if all(name.encode() in body for name in MEMBERS):
            naming.add(route.name)
            if JURY.encode() not in body:
                lacking.add(route.name)
    assert lacking == OF_CALLS
    [one] = findings(panelled)["configurations"]
    [jury] = [found["preferred_first"] for found in one["raters"] if found["rater"] == f"judge:{JURY}"]
    audited = next(one for one in kept_audit(panelled)["raters"] if one["rater"] == f"judge:{JURY}")
    for found in (jury, audited["preferred_first"]):
        assert (found["value"], found["n"], found["why_code"]) == (None, 0, "no_order")
    assert naming >= {
        *("api:judge-list", "api:study-exports", "api:study-findings", "api:study-leaderboard", "judging:compare"),
        *("judging:judges", "reporting:disagreements", "reporting:findings", "reporting:findings-json"),
        *("reporting:judge-accuracy", "reporting:leaderboard", "reporting:logic"),
    }
