"""A plan is frozen before the first vote, by one declaration; findings, report and bundle carry it."""

import json
from collections.abc import Callable
from dataclasses import replace
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest
from django.urls import reverse
from django.utils import timezone
from hypothesis import given
from hypothesis import strategies as st

from annotation.batches.services import set_batch_status
from annotation.core.errors import InvalidSelection
from annotation.importing.rating_files import import_ratings
from annotation.members.groups import create_group
from annotation.models import Annotator, Event, Hit, Study
from annotation.planning.frozen_plans import FrozenPlan, canonical, freeze_plan, frozen_plan, hash_of, withdraw_plan
from annotation.studies.log import log
from judging.models import JudgeRun, PromptFile
from reporting.bundle.exporting import export_bundle
from reporting.bundle.importing import import_bundle
from reporting.bundle.layout import PLAN, BadBundle
from reporting.bundle.verifying import verify_bundle
from reporting.corrections.renaming import rename_judge, rename_system
from reporting.corrections.taking_back import take_back
from reporting.findings.answer.planned import NO_PLAN, plan_notes, status_of
from reporting.findings.computing import findings_under
from reporting.findings.data.inputs import Filters
from reporting.findings.sections import page_sections, plan_section
from reporting.planning.forms import FreezePlan
from reporting.report.building import report_page
from tests.factories import (
    NOON,
    add_instances,
    api_of,
    claim,
    instance_rows,
    json_lines,
    make_annotator,
    make_batch,
    make_study,
    make_user,
    output_of,
    rate,
    signed_in,
)
from tests.judging.builders import make_judge
from tests.reporting.builders import build_configuration, build_study, findings, judge

pytestmark = pytest.mark.django_db
PLANNED_FIELDS = {"claims": ["preference"], "epsilon": 0.15, "judges": [], "raters": 1}
SCALARS = st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | st.text()
VALUES = st.recursive(SCALARS, lambda inner: st.lists(inner) | st.dictionaries(st.text(), inner), max_leaves=8)


@given(content=st.dictionaries(st.text(), VALUES, max_size=5), shuffle=st.randoms(use_true_random=False))
def test_a_plans_hash_depends_on_its_content_alone(content: dict[str, Any], shuffle: Any) -> None:
    items = list(content.items())
    shuffle.shuffle(items)
    text = canonical(content)
    assert hash_of(canonical(dict(items))) == hash_of(text)
    assert canonical(json.loads(text)) == text
    assert FrozenPlan(text, hash_of(text), NOON).is_altered is False
    assert FrozenPlan(text + " ", hash_of(text), NOON).is_altered


def by_page(study: Study) -> None:
    fields = {
        **PLANNED_FIELDS,
        "judges": "",
        "question": "overall",
        "systems": "beta\nalpha",
        "instances": 6,
        "pairs": 2,
    }
    client = signed_in(make_user("researcher", "researcher", study=study))
    address = reverse("annotation:freeze-plan", args=[study.slug])
    assert client.post(address, fields | {"judges": "theirs"}).status_code == 422
    assert frozen_plan(study) is None
    assert client.post(address, fields).status_code == 302


def by_api(study: Study) -> None:
    client = api_of(make_user("researcher", "researcher", study=study))
    wrong = client.post(f"/api/v1/studies/{study.slug}/frozen-plan/", {"judges": ["theirs"]}, format="json")
    assert (wrong.status_code, frozen_plan(study)) == (422, None)
    answer = client.post(f"/api/v1/studies/{study.slug}/frozen-plan/", PLANNED_FIELDS, format="json")
    assert answer.status_code == 201
    assert client.get(f"/api/v1/studies/{study.slug}/frozen-plan/").json() == answer.json()


def by_command(study: Study) -> None:
    output_of("freeze_plan", study.slug, "--claims", "preference", "--epsilon", "0.15", "--raters", "1")
    plan = frozen_plan(study)
    assert plan
    assert json.loads(output_of("freeze_plan", study.slug, "--show")) == plan.as_json()


@pytest.mark.parametrize("freeze", [by_page, by_api, by_command])
def test_three_doors_freeze_the_same_plan(freeze: Callable[[Study], None]) -> None:
    study = make_study(instances=6, k=2)
    make_batch(study, pairs=2, raters=3)
    theirs = PromptFile.objects.create(name="theirs", group=create_group(slug="elsewhere"), text="$source")
    make_judge(name="theirs", prompt_file=theirs)
    freeze(study)
    plan = frozen_plan(study)
    assert plan
    assert plan.content == {
        "question": "overall",
        "systems": ["alpha", "beta"],
        "claims": ["preference"],
        "epsilon": 0.15,
        "bins": 4,
        "judges": [],
        "stop_rule": "",
        "instances": 6,
        "pairs": 2,
        "raters": 1,
        "datasets": ["news"],
        "judge_settings": {},
        "judgments": 0,
    }


@pytest.mark.parametrize(
    ("sent", "field"),
    [
        ({"question": "fluency"}, "question"),
        ({"systems": ["gamma"]}, "systems"),
        ({"judges": ["nobody"]}, "judges"),
        ({"stop_rule": "soon"}, "stop_rule"),
        ({"claims": ["x"]}, "claims"),
        pytest.param({"claims": ["replacement"]}, "judges", id="a claim about judges without any"),
    ],
)
def test_a_plan_that_can_not_be_is_refused(sent: dict[str, Any], field: str) -> None:
    study = make_study()
    assert list(FreezePlan({**FreezePlan(study=study).initial, "epsilon": 0.1, **sent}, study=study).errors) == [field]


def planned_study(*, instances: int = 20, planned: int | None = None, voting: bool = True, **changes: Any) -> Study:
    """A study of which every vote is for alpha, planned a day before."""
    study = make_study(instances=instances, k=1)
    make_batch(study, pairs=1, raters=1)
    form = FreezePlan(
        {**FreezePlan(study=study).initial, "claims": ["preference"], "epsilon": 0.1, **changes}, study=study
    )
    assert form.is_valid(), form.errors
    content = form.content | ({} if planned is None else {"instances": planned})
    freeze_plan(study=study, content=content, at=NOON - timedelta(days=1))
    if voting:
        vote(study, "ann", instances)
    return study


def vote(study: Study, name: str, times: int) -> Annotator:
    """Let a rater choose alpha on some HITs."""
    annotator = make_annotator(study, name)
    for _ in range(times):
        assignment = claim(annotator)
        rate(assignment, "left" if assignment.displays.get().a_is_left else "right")
    return annotator


def test_a_plan_can_be_changed_by_nothing_and_withdrawn_before_the_first_vote_only() -> None:
    study = planned_study(voting=False)
    with pytest.raises(InvalidSelection, match="withdraw"):
        freeze_plan(study=study, content={})
    output_of("freeze_plan", study.slug, "--withdraw", "--reason", "a typing error")
    assert frozen_plan(study) is None
    freeze_plan(study=study, content={"claims": [], "stop_rule": ""})
    rate(claim(make_annotator(study)))
    with pytest.raises(InvalidSelection, match="first"):
        withdraw_plan(study=study)
    kinds = study.events.filter(kind__in=["planned", "unplanned"]).values_list("kind", "reason")
    assert list(kinds) == [("planned", ""), ("unplanned", "a typing error"), ("planned", "")]


def test_no_plan_is_frozen_after_the_first_vote() -> None:
    study = make_study()
    make_batch(study)
    rate(claim(make_annotator(study)), submit=False)
    with pytest.raises(InvalidSelection, match="first"):
        freeze_plan(study=study, content={})
    found = findings(study, rounds=1)
    assert (plan_notes(found), plan_section(found)["reasons"]) == ([NO_PLAN], [NO_PLAN])


def statuses(found: dict[str, Any]) -> tuple[str, str]:
    """The headline's badge and that of the section on rankings."""
    return found["answer"][0]["plan"], page_sections(found, {})["results"]["rankings"]["plan"]


def codes(found: dict[str, Any]) -> list[str]:
    return [item["code"] for item in found["plan"]["deviations"]]


def test_a_claim_is_planned_until_epsilon_or_another_filter_changes() -> None:
    study = planned_study()
    plain = Filters()
    found = findings_under(study, plain)
    assert (found["answer"][0]["rule"], codes(found), statuses(found)) == ("preferred", [], ("planned", "planned"))
    assert plan_section(found)["reasons"] == []
    for filters, code in (
        (replace(plain, epsilon=0.15), "epsilon"),
        (replace(plain, bins=5), "bins"),
        (replace(plain, with_excluded=True), "with_excluded"),
        (replace(plain, datasets=("news",)), "datasets"),
        (replace(plain, seed=1), "seed"),
    ):
        found = findings_under(study, filters)
        assert code in codes(found)
        assert statuses(found)[0] == "exploratory"
    assert "ε: 0.15; the plan has 0.1." in plan_notes(findings_under(study, replace(plain, epsilon=0.15)))
    found = findings_under(study, plain)
    plan = {**found["plan"], "deviations": [{"code": "judges", "text": ""}]}
    assert status_of("preference", {**found, "plan": plan}) == "planned"
    plan["content"] = {**plan["content"], "claims": ["replacement"]}
    assert status_of("replacement", {**found, "plan": plan}) == "exploratory"
    rename_system(study=study, name="alpha", to="omega")
    found = findings_under(study, plain)
    assert (codes(found), found["plan"]["content"]["systems"]) == ([], ["alpha", "beta"])


@pytest.mark.parametrize(
    ("settings", "deviations"),
    [
        pytest.param({"planned": 60}, ["instances"], id="fewer instances"),
        pytest.param({"planned": 60, "stop_rule": "decided"}, ["stop_rule"], id="a stop rule may end it early"),
        pytest.param({"planned": 10, "stop_rule": "decided"}, ["instances", "stop_rule"], id="more instances"),
        pytest.param({"raters": 2}, ["submitted", "raters"], id="raters"),
        pytest.param({"claims": ["length"]}, [], id="another claim"),
    ],
)
def test_what_deviates_makes_claims_exploratory(settings: dict[str, Any], deviations: list[str]) -> None:
    found = findings_under(planned_study(**settings), Filters())
    assert (codes(found), statuses(found)) == (deviations, ("exploratory", "exploratory"))


def test_fewer_and_more_ratings_than_planned_and_a_rater_excluded_after_a_look_deviate() -> None:
    study = planned_study(voting=False, raters=2)
    study.batches.get().delete()
    make_batch(study, pairs=1, raters=2)
    vote(study, "ann", 20)
    assert codes(findings_under(study, Filters())) == ["submitted"]
    bob = Annotator.objects.filter(pk=vote(study, "bob", 20).pk)
    assert codes(findings_under(study, Filters())) == []
    bob.update(excluded=True)
    assert codes(findings_under(study, Filters())) == ["excluded"]
    bob.update(excluded=False)
    make_batch(study, name="again", pairs=1, raters=2)
    vote(study, "cem", 20)
    assert codes(findings_under(study, Filters())) == ["submitted"]


def test_an_amendment_since_the_first_rating_deviates_and_one_before_does_not() -> None:
    study = planned_study(planned=20, stop_rule="decided", voting=False)
    batch = study.batches.get()
    set_batch_status(batch=batch, stop_rule="decided")
    study.events.filter(kind=Event.Kind.AMENDMENT).update(happened_at=NOON - timedelta(hours=1))
    vote(study, "ann", 20)
    assert codes(findings_under(study, Filters())) == []
    set_batch_status(batch=batch, status="closed")
    with pytest.raises(InvalidSelection, match="closed"):
        set_batch_status(batch=batch, stop_rule="none")
    log(study=study, kind=Event.Kind.AMENDMENT, at=NOON + timedelta(days=1))
    assert codes(findings_under(study, Filters())) == ["amended"]


def test_imported_ratings_are_of_unknown_time_and_no_plan_follows_those_taken_back() -> None:
    study = planned_study(instances=2, voting=False)
    rows = [
        {"instance_id": name, "system_a": "alpha", "system_b": "beta", "pair_index": 0, "rater": "r", "rating": -1}
        for name in study.instances.values_list("instance_id", flat=True)
    ]
    later = (timezone.now() + timedelta(days=1)).isoformat()
    import_ratings(data=json_lines([{**row, "rated_at": later} for row in rows]), name="ratings.jsonl", slug=study.slug)
    assert "imported" in codes(findings_under(study, Filters()))
    take_back(record=study.imports.latest("pk"))
    with pytest.raises(InvalidSelection, match="first"):
        withdraw_plan(study=study)


@pytest.mark.parametrize("is_late", [False, True])
def test_claims_about_judges_alone_are_planned_if_no_judgment_is_older(is_late: bool) -> None:
    built = build_configuration(build_study(), instances=60, pairs=1)
    study = built.study
    Hit.objects.all().delete()
    study.batches.all().delete()

    def judge_all() -> None:
        judge(built, "j", [(place, 0, order, -1) for place in range(60) for order in ("ab", "ba")], order="both")

    def freeze() -> None:
        values = {
            "claims": ["judges_preference"],
            "epsilon": 0.1,
            "pairs": 1,
            "raters": 1,
            "instances": 60,
            "judges": ["j"],
        }
        form = FreezePlan({**FreezePlan(study=study).initial, **values}, study=study)
        assert form.is_valid(), form.errors
        form.run()

    if is_late:
        judge_all()
        freeze()
    else:
        make_judge(name="j")
        freeze()
        judge_all()
    found = findings_under(study, Filters())
    assert codes(found) == []
    assert found["answer"][0]["plan"] == ("exploratory" if is_late else "planned")


def test_another_data_set_deviates() -> None:
    study = planned_study(instances=5, raters=1)
    add_instances(study, instance_rows(instances=5, k=1, dataset="talks", prefix="t"))
    make_batch(study, name="talks", pairs=1, raters=1, dataset="talks")
    vote(study, "bob", 5)
    found = findings_under(study, Filters())
    assert codes(found) == ["datasets", "instances"]
    assert found["plan"]["deviations"][0]["found"] == ["news", "talks"]
    assert statuses(found) == ("exploratory", "exploratory")


@pytest.mark.parametrize(
    ("change", "deviates"),
    [
        pytest.param({"system_prompt": "Be strict."}, True, id="prompt"),
        pytest.param({"params": {"temperature": 1.0}}, True, id="parameter"),
        pytest.param({"family": "owls"}, False, id="family"),
        pytest.param({"endpoint__base_url": "https://other.example/v1"}, False, id="address"),
        pytest.param({"endpoint__model": "judge-2"}, True, id="model"),
    ],
)
def test_a_judge_with_other_settings_under_its_name_deviates(change: dict[str, Any], deviates: bool) -> None:
    judge = make_judge(name="strict")
    study = planned_study(instances=5, judges="strict")
    JudgeRun.objects.create(study=study, judge=judge, status="done")
    rename_judge(study=study, name="strict", to="stern")
    for name, value in change.items():
        changed = judge.endpoint if name.startswith("endpoint") else judge
        type(changed).objects.filter(pk=changed.pk).update(**{name.removeprefix("endpoint__"): value})
    found = findings_under(study, Filters())
    # The judge has not judged.
    assert codes(found) == (["judge_settings"] * deviates + ["judges"])
    assert statuses(found)[0] == "planned"


def test_votes_from_before_the_plan_and_an_altered_plan_deviate() -> None:
    study = planned_study()
    event = study.events.get(kind="planned")
    altered = event.changes["plan"].replace('"epsilon":0.1', '"epsilon":0.3')
    changes = {**event.changes, "plan": altered}
    Event.objects.filter(pk=event.pk).update(changes=changes, happened_at=NOON + timedelta(days=1))
    assert codes(findings_under(study, Filters())) == ["altered", "earlier", "epsilon"]


def test_report_and_pages_carry_the_plan() -> None:
    study = planned_study(epsilon=0.15)
    plan = frozen_plan(study)
    assert plan
    page = report_page(study, findings_under(study, Filters(epsilon=0.15)))
    assert page.count(plan.sha256) == 1
    assert page.count('data-state="done"') >= 1
    client = signed_in(make_user("researcher", "researcher", study=study))
    assert plan.sha256 in client.get(reverse("annotation:freeze-plan", args=[study.slug])).content.decode()
    text = client.get(reverse("reporting:findings", args=[study.slug])).content.decode()
    assert "?question=overall&amp;epsilon=0.15" in text


@pytest.mark.slow
def test_a_bundle_carries_the_plan_and_refuses_another(tmp_path: Path) -> None:
    study = planned_study()
    plan = frozen_plan(study)
    assert plan
    manifest = export_bundle(study, tmp_path / "bundle")
    assert manifest["plan"] == plan.as_json()
    assert manifest["files"][PLAN]["sha256"] == plan.sha256
    copy = frozen_plan(import_bundle(tmp_path / "bundle", slug="copy"))
    assert copy == plan
    path = tmp_path / "bundle" / "manifest.json"
    path.write_text(json.dumps({**json.loads(path.read_text()), "plan": None}))
    with pytest.raises(BadBundle, match=PLAN):
        verify_bundle(tmp_path / "bundle")
