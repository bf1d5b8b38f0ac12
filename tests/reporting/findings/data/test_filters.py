"""Filters of findings: what each leaves of a study, by address and by command, and how page and text say so."""

import json
import re

import pytest
from django.core.management import call_command
from django.http import QueryDict

from annotation.core.errors import UnknownName
from annotation.models import Annotator, Assignment, Rating, Study
from annotation.models.studies import Protocol
from reporting.findings.computing import findings_under
from reporting.findings.data.asked import filters_of, offered, query_of
from tests.factories import make_user, signed_in
from tests.reporting.builders import Built, build_configuration, build_study, judge, rate

pytestmark = [pytest.mark.django_db, pytest.mark.slow]
EVERYTHING = (
    "batch=talk-batch&dataset=talk&system=alpha&system=gamma&rater=ann&rater=bob&arm=none&judge=direct"
    "&with_incomplete=1&two_way=1&with_excluded=1&stage=revised&ties=davidson&epsilon=0.2"
)


def store() -> Study:
    """Three configurations, two data sets; second votes, arms, an excluded rater and an excluded HIT."""
    study = build_study("parts")
    study.protocol = Protocol.TWO_STAGE
    study.save()
    news = build_configuration(study, instances=2, pairs=2, systems=("alpha", "beta"))
    talk = build_configuration(study, instances=1, pairs=2, dataset="talk", systems=("alpha", "gamma"))
    build_configuration(study, instances=1, pairs=2, dataset="talk", systems=("beta", "gamma"), prefix="more")
    first = rate(news, 0, "ann", [-1, -1])
    Assignment.objects.filter(pk=first.pk).update(arm="none")
    for display in first.displays.all():
        Rating.objects.create(display=display, stage=Rating.Stage.REVISED, verdict=1)
    imported = rate(news, 0, "bob", [1, 1])
    Rating.objects.create(display=imported.displays.all()[0], stage=Rating.Stage.REVISED, verdict=1, arm="table:c8")
    rate(talk, 0, "ann", [0, 0])
    rate(talk, 0, "eve", [1, 1])
    Annotator.objects.filter(code="eve").update(excluded=True)
    again = rate(news, 1, "bob", [1, None])
    Assignment.objects.filter(pk=again.pk).update(excluded=True)
    judge(news, "direct", [(0, 0, "ab", -1)])
    return study


def counts(study: Study, query: str) -> dict[str, dict[str, int]]:
    """The verdicts of people in each configuration, by data set and systems."""
    found = findings_under(study, filters_of(study, QueryDict(query)))["configurations"]
    return {
        f"{one['dataset']} {one['system_a']} {one['system_b']}": {
            name: n for name, n in one["raters"][0]["counts"].items() if n
        }
        for one in found
    }


WHOLE = {"news alpha beta": {"a": 2, "b": 2}, "talk alpha gamma": {"tie": 2}, "talk beta gamma": {}}


@pytest.mark.parametrize(
    ("query", "expected"),
    [
        pytest.param("", WHOLE, id="all"),
        pytest.param("dataset=news", {"news alpha beta": {"a": 2, "b": 2}}, id="a data set"),
        pytest.param("dataset=news&dataset=talk", WHOLE, id="both data sets"),
        pytest.param("system=gamma", {"talk alpha gamma": {"tie": 2}, "talk beta gamma": {}}, id="a system"),
        pytest.param("system=gamma&system=alpha", {"talk alpha gamma": {"tie": 2}}, id="a pair of systems"),
        pytest.param("rater=bob&dataset=news", {"news alpha beta": {"b": 2}}, id="a rater"),
        pytest.param(
            "stage=revised", {**WHOLE, "news alpha beta": {"b": 3}, "talk alpha gamma": {}}, id="second votes"
        ),
        pytest.param("arm=none&dataset=news", {"news alpha beta": {"a": 2}}, id="an arm"),
        pytest.param("arm=table:c8&dataset=news", {"news alpha beta": {"b": 2}}, id="an arm of an imported vote"),
        pytest.param(
            "with_excluded=1",
            {**WHOLE, "news alpha beta": {"a": 2, "b": 3}, "talk alpha gamma": {"tie": 2, "b": 2}},
            id="with excluded ones",
        ),
        pytest.param(
            "with_excluded=1&rater=eve&system=gamma&system=alpha", {"talk alpha gamma": {"b": 2}}, id="several"
        ),
    ],
)
def test_a_filter_leaves_what_it_names(query: str, expected: dict[str, dict[str, int]], study: Study) -> None:
    assert counts(study, query) == expected


def test_exclusions_are_those_of_the_raters_who_are_named(study: Study) -> None:
    def excluded(query: str) -> list[int]:
        found = findings_under(study, filters_of(study, QueryDict(query)))["configurations"]
        return [one["raters"][0]["exclusions"]["excluded"] for one in found]

    assert excluded("") == [1, 2, 0]
    assert excluded("rater=bob") == [1, 0, 0]
    assert excluded("with_excluded=1") == [0, 0, 0]


@pytest.mark.parametrize(
    ("query", "listed"),
    [
        ("dataset=none", "news, talk"),
        ("system=delta", "alpha, beta, gamma"),
        ("system=alpha&system=beta&system=gamma", "a pair has two systems"),
        ("rater=zoe", "ann, bob, eve"),
        ("arm=x", "none, table:c8"),
        ("stage=third", "first, revised"),
        ("with_excluded=maybe", "with_excluded is 1 or 0, not maybe"),
    ],
)
def test_an_unknown_name_lists_those_that_exist(query: str, listed: str, study: Study) -> None:
    with pytest.raises(UnknownName, match=listed):
        filters_of(study, QueryDict(query))


@pytest.mark.parametrize(
    ("given", "on"), [("1", True), ("on", True), ("True", True), ("0", False), ("False", False), ("", False)]
)
def test_a_switch_is_on_or_off_in_the_words_of_forms_and_programs(given: str, on: bool, study: Study) -> None:
    assert filters_of(study, QueryDict(f"two_way={given}")).two_way is on


def test_a_rater_who_withdrew_is_not_listed(study: Study) -> None:
    study.annotators.filter(code="bob").update(withdrawn_at=study.created_at)
    with pytest.raises(UnknownName, match=r"it has: ann, eve$"):
        filters_of(study, QueryDict("rater=bob"))
    offers = {
        one["parameter"]: one["options"] for one in offered(study, filters_of(study, QueryDict()).as_json())["choices"]
    }
    assert [code for code, *_ in offers["rater"]] == ["ann", "eve"]


def test_filters_are_kept_in_addresses(study: Study) -> None:
    filters = filters_of(study, QueryDict(EVERYTHING))
    assert QueryDict(query_of(filters)) == QueryDict(EVERYTHING)
    assert filters_of(study, QueryDict(query_of(filters))) == filters
    listed = {"datasets": ["talk"], "systems": ["alpha", "gamma"], "raters": ["ann", "bob"], "arms": ["none"]}
    assert {**listed, "with_excluded": True, "stage": "revised"}.items() <= filters.as_json().items()


def test_the_command_takes_the_same_filters(study: Study, capsys: pytest.CaptureFixture[str]) -> None:
    options = [
        "--dataset",
        "talk",
        "--systems",
        "alpha",
        "gamma",
        "--rater",
        "ann",
        "--rater",
        "eve",
        "--with-excluded",
    ]
    call_command("findings", study.slug, *options, "--format", "json")
    query = "dataset=talk&system=alpha&system=gamma&rater=ann&rater=eve&with_excluded=1"
    expected = findings_under(study, filters_of(study, QueryDict(query)))
    assert json.loads(capsys.readouterr().out) == json.loads(json.dumps(expected))
    call_command("findings", study.slug, *options)
    assert "Data sets: talk; Systems: alpha, gamma; Raters: ann, eve; " in capsys.readouterr().out


def test_the_page_says_what_it_is_about_and_its_links_carry_it(study: Study) -> None:
    client = signed_in(make_user("reader", "researcher", study=study))
    query = "dataset=news&rater=ann&with_excluded=1&stage=revised"
    page = client.get(f"/studies/parts/findings/?{query}").content.decode()
    carried = query.replace("&", "&amp;")
    assert f"findings.json?{carried}" in page
    assert re.search(rf'charts/[a-z-]+\.svg\?[^"]*{re.escape(carried)}"', page)
    assert client.get(f"/studies/parts/charts/separability.csv?of=news&a=alpha&b=beta&{query}").status_code == 200
    assert client.get(f"/studies/parts/charts/separability.csv?of=talk&a=alpha&b=gamma&{query}").status_code == 404
    assert "These findings are about a part" not in client.get("/studies/parts/findings/").content.decode()


def test_the_form_offers_names_with_counts(study: Study) -> None:
    filters = filters_of(study, QueryDict("rater=ann"))
    found = offered(study, filters.as_json())
    options = {one["parameter"]: one["options"] for one in found["choices"]}
    assert options["dataset"] == [("news", 2, False), ("talk", 2, False)]
    assert options["system"] == [("alpha", 3, False), ("beta", 3, False), ("gamma", 2, False)]
    assert options["rater"] == [("ann", 2, True), ("bob", 2, False), ("eve", 1, False)]
    assert (found["stages"], found["excluded"]) == (True, 2)


def test_a_study_without_choices_offers_none(built: Built) -> None:
    rate(built, 0, "ann", [1, 1])
    assert offered(built.study, filters_of(built.study, QueryDict()).as_json())["choices"] == []


@pytest.fixture
def built(db: None) -> Built:
    return build_configuration(build_study("alone"), instances=1, pairs=2, systems=("alpha", "beta"))
