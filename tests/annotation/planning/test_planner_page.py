"""The planner's page: bookmarkable, in words, and for those who read the study."""

from typing import Any

import pytest
from django.contrib.auth.models import User
from django.test import Client
from pytest_django import DjangoAssertNumQueries
from pytest_django.asserts import assertContains, assertNotContains, assertTemplateUsed

from annotation.models import Study
from tests.annotation.planning.test_planning import make_pilot
from tests.factories import make_study, make_user, signed_in

pytestmark = [pytest.mark.django_db, pytest.mark.slow]

ADDRESS = "/studies/study/plan/"
ASKED = {"width": "0.2", "pairs": "1, 3", "raters": "1 2", "source": "pilot"}


@pytest.fixture
def reader() -> Client:
    return signed_in(make_user("ada", "researcher"))


def test_page_opens_with_the_plan_of_the_studys_pairs_and_raters(reader: Client) -> None:
    make_study(k=2, pay_per_hit="0.50", currency="EUR", pairs_per_hit=2, raters_per_hit=4)
    page = reader.get(ADDRESS)
    assertTemplateUsed(page, "annotation/planning/planner.html")
    found: dict[str, Any] = page.context["plan"]
    [design] = found["designs"]
    assert (found["width"], design["pairs"], design["raters"]) == (0.1, 2, 4)
    assert found["variance"]["source"] == "assumptions"  # no votes yet
    assertContains(page, found["sentence"])
    assertContains(page, 'placeholder="0.50"')
    Study.objects.update(pairs_per_hit=5)
    assert [one["pairs"] for one in reader.get(ADDRESS).context["plan"]["designs"]] == [2]  # the study has no more
    found = reader.get(ADDRESS, {"width": ""}).context["plan"]  # nothing has to be filled in
    assert (found["width"], found["measure"], found["level"], len(found["designs"])) == (0.1, "win-rate", 0.95, 12)
    assert found["variance"]["assumptions"]["win_rate"] == 0.5
    form = page.context["form"]
    assert len(form.inputs) == 3
    assert len(form.inputs) + sum(len(fields) for _, fields in form.groups) == len(form.fields)


def test_the_curve_falls_and_holds_the_headline(reader: Client) -> None:
    make_study(k=2)
    page = reader.get(ADDRESS, {"width": "0.2", "pairs": "2", "raters": "3", "finite": "on"})
    assert page.context["curve"] is None  # all instances of a small population do not reach it
    page = reader.get(ADDRESS, {"width": "0.2", "pairs": "2", "raters": "3"})
    found, [design] = page.context["plan"], page.context["plan"]["designs"]
    widths = [point["width"] for point in found["curve"]]
    assert widths == sorted(widths, reverse=True)
    assert found["curve"][-1]["instances"] == pytest.approx(2 * design["instances"], abs=3)
    [mark] = page.context["curve"]["marks"]
    assert float(mark["y"]) == pytest.approx(100 * (1 - design["width"] / 0.5), abs=0.1)


def test_address_holds_the_whole_plan(reader: Client) -> None:
    make_pilot()
    page = reader.get(ADDRESS, ASKED)
    found: dict[str, Any] = page.context["plan"]
    assert page.status_code == 200
    assert [(one["pairs"], one["raters"]) for one in found["designs"]] == [(1, 1), (1, 2), (3, 1), (3, 2)]
    assert found["variance"]["source"] == "pilot"
    assertContains(page, "Measured on 30 votes of 2 raters on 5 instances")
    assertContains(page, "raters of an instance")
    for design in found["designs"]:
        assertContains(page, f">{design['instances']}*<" if design["enough"] is False else f"{design['instances']}")
    assertContains(page, "cheapest")
    assertContains(page, 'value="1, 3"')  # what was filled in stays


def test_assumptions_and_prices_are_taken_from_the_form(reader: Client) -> None:
    make_pilot()
    stated = {"source": "assumed", "win_rate": "0.6", "tie_share": "0.2", "instance": "0.5", "rater": "0.1"}
    prices = {"pay_per_hit": "2", "judges": "3", "orders": "2", "cost_per_call": "0.01", "source_share": "0"}
    page = reader.get(ADDRESS, {**ASKED, **stated, **prices})
    found = page.context["plan"]
    assert found["variance"]["assumptions"]["shares"] == {"instance": 0.5, "pair": 0.05, "rater": 0.1}
    assert (found["costs"]["judges"], found["costs"]["orders"], found["costs"]["pay_per_hit"]) == (3, 2, 2.0)
    assertContains(page, "Judge cost")
    assertContains(page, "Assumed: a win rate of 0.6 and a share of ties of 0.2.")


def test_configuration_and_batches_are_chosen_by_name(reader: Client) -> None:
    study = make_pilot(systems=("alpha", "beta", "gamma"))
    assert reader.get(ADDRESS, ASKED).status_code == 422  # three configurations, and none was chosen
    a, b, c = study.systems.all()
    chosen = {**ASKED, "configuration": f"{a.pk}-{b.pk}-news", "batches": "batch"}
    found = reader.get(ADDRESS, chosen).context["plan"]
    assert found["configuration"]["system_b"] == "beta"
    assert found["variance"]["pilot"]["batches"] == ["batch"]
    other = reader.get(ADDRESS, {**chosen, "configuration": f"{a.pk}-{c.pk}-news"})
    assertContains(other, "The pilot has votes on 0 instances", status_code=422)


@pytest.mark.parametrize(
    ("changes", "words"),
    [
        pytest.param({"width": "2"}, "Give a number from 0.001 to 1.", id="width-above-one"),
        pytest.param({"pairs": "<script>"}, "Whole numbers", id="hostile"),
        pytest.param({"batches": "none"}, "not one of the available choices", id="batch"),
        pytest.param({"source": "assumed", "win_rate": "0.9", "tie_share": "0.9"}, "at most", id="ties"),
    ],
)
def test_what_makes_no_plan_is_said_at_the_form_which_keeps_it(
    reader: Client, changes: dict[str, str], words: str
) -> None:
    make_study()
    page = reader.get(ADDRESS, {**ASKED, "level": "0.9", **changes})
    assertContains(page, words, status_code=422)
    assertContains(page, 'value="0.9"', status_code=422)
    assertNotContains(page, "<script>", status_code=422)
    assert "plan" not in page.context


def test_number_of_queries_does_not_grow_with_the_study(
    reader: Client, django_assert_max_num_queries: DjangoAssertNumQueries
) -> None:
    make_pilot(instances=12)
    with django_assert_max_num_queries(31):
        assert reader.get(ADDRESS, ASKED).status_code == 200
    assert Study.objects.count() == User.objects.filter(username="ada").count() == 1
