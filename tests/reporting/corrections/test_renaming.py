"""A study and its systems get other names by page, API and command."""

import pytest

from annotation.core.errors import UnknownStudy
from annotation.models import AuditEntry, Event, Study
from annotation.planning.frozen_plans import content_today, freeze_plan, frozen_plan
from annotation.studies.services import find_study, save_settings
from judging.models import Judge
from judging.runs.pair_filters import PairFilter
from reporting.corrections.renaming import Rename, rename_judge
from reporting.exports.files import export_lines
from tests.factories import add_instances, instance_rows, make_study, make_user, signed_in
from tests.judging.builders import make_judge
from tests.reporting.corrections.doors import correct, each_door, in_turn

pytestmark = [pytest.mark.django_db, pytest.mark.engine, pytest.mark.slow]


def store() -> Study:
    """Two systems, with gold of both forms."""
    study = make_study(instances=3)
    rows = list(study.instances.all())
    for row, gold in zip(
        rows, ({"better": "alpha"}, {"scores": {"alpha": 2, "beta": 1}}, {"better": "tie"}), strict=True
    ):
        row.gold = gold
        row.save()
    return study


@each_door
def test_a_system_gets_another_name_wherever_it_is_named(study: Study, door: str) -> None:
    only = PairFilter(systems=("alpha", "beta"))
    run = study.judge_runs.create(judge=make_judge(), pair_filter=only.stored, filter_key=only.key)

    outlook = correct(door, study, "rename", {"system": "alpha", "to": "zeta/2.0"}, preview=True)
    assert (outlook.made, outlook.effects) == (False, ["3 instances with texts of alpha"])
    assert study.systems.filter(name="alpha").exists()

    assert correct(door, study, "rename", {"system": "alpha", "to": "zeta/2.0", "reason": "typo"}).made

    assert list(study.systems.values_list("name", flat=True)) == ["zeta/2.0", "beta"]
    assert list(study.instances.values_list("gold", flat=True)) == [
        {"better": "zeta/2.0"},
        {"scores": {"zeta/2.0": 2, "beta": 1}},
        {"better": "tie"},
    ]
    run.refresh_from_db()
    renamed = PairFilter(systems=("beta", "zeta/2.0"))
    assert (run.pair_filter, run.filter_key) == (renamed.stored, renamed.key)
    assert "alpha" not in "".join(export_lines(study, "texts", "jsonl"))
    event = study.events.get(kind=Event.Kind.RENAMED)
    assert (event.changes, event.reason) == ({"system": ["alpha", "zeta/2.0"]}, "typo")
    assert AuditEntry.objects.latest("pk").changes[-1]["changes"] == {"system": ["alpha", "zeta/2.0"]}


@pytest.mark.parametrize(
    ("door", "sent", "part"),
    [
        ("api", {"system": "alpha", "to": "BETA "}, "blanks"),
        ("page", {"system": "alpha", "to": "BETA "}, "differs from system beta"),  # its fields are stripped
        *in_turn(
            [
                ({"system": "gamma", "to": "delta"}, "no system gamma"),
                ({"system": "alpha", "to": "beta"}, "has a system beta"),
                ({"system": "alpha", "to": "BETA"}, "differs from system beta"),
                ({"system": "alpha", "to": "tie"}, "tie"),
                ({"system": "alpha", "to": "alpha"}, "already"),
                ({"to": "other"}, "Another study"),
                ({"to": "Other"}, "Another study has the short name Other"),
                ({"to": "new"}, "is reserved"),
                ({"to": "a b"}, "Letters, digits"),
                ({"to": "study"}, "already"),
            ]
        ),
    ],
)
def test_names_that_are_taken_or_look_alike_are_refused(
    study: Study, door: str, sent: dict[str, str], part: str
) -> None:
    make_study("other", instances=0)

    outcome = correct(door, study, "rename", sent)

    assert (outcome.made, part in outcome.text) == (False, True), outcome.text
    assert list(study.systems.values_list("name", flat=True)) == ["alpha", "beta"]
    assert not study.events.exists()


@pytest.mark.parametrize(
    ("kind", "sent", "field"),
    [
        ("rename", {"system": "gamma", "to": "delta"}, "system"),
        ("rename", {"judge": "gamma", "to": "delta"}, "judge"),
        ("replace-text", {"instance": "none", "text": "x"}, "instance"),
        ("take-back", {"record": "none"}, "record"),
        ("merge-raters", {"rater": "none", "into": "nobody"}, "rater"),
        ("delete-batch", {"batch": "none"}, "batch"),
    ],
)
def test_an_unknown_name_stands_at_its_field(study: Study, kind: str, sent: dict[str, str], field: str) -> None:
    admin = signed_in(make_user("admin", "study-admin", study=study))
    answer = admin.post(f"/studies/study/correct/{kind}/", {**sent, "preview": "on"})
    assert (answer.status_code, list(answer.context["form"].errors)) == (422, [field])


@each_door
def test_a_judge_gets_another_name_in_juries_tables_and_logs(study: Study, door: str) -> None:
    judge, second = (make_judge("longer", name=name, endpoint=None) for name in ("first", "second"))
    other = make_study("other", instances=0)
    jury = make_judge(
        Judge.JURY, name="jury", endpoint=None, params={"members": ["first", "second"], "rule": "majority"}
    )
    for row in (judge, second):
        study.judge_runs.create(judge=row, status="done")
    pair = study.instances.first().matchups.get().pairs.first()  # type: ignore[union-attr]
    study.tables.create(table_id="t", pair=pair, variant="c", made_by={"judge": "first", "seed": 1})

    assert "differs from judge second" in correct(door, study, "rename", {"judge": "first", "to": "Second"}).text
    assert "No judge third" in correct(door, study, "rename", {"judge": "third", "to": "x"}).text
    assert correct(door, study, "rename", {"judge": "first", "to": "gpt-4.1/mini"}).made

    for row in (judge, jury):
        row.refresh_from_db()
    assert (judge.name, jury.members) == ("gpt-4.1/mini", ["gpt-4.1/mini", "second"])
    assert study.tables.get().made_by == {"judge": "gpt-4.1/mini", "seed": 1}
    assert study.events.get(kind=Event.Kind.RENAMED).changes == {"judge": ["first", "gpt-4.1/mini"]}

    other.judge_runs.create(judge=second, status="done")
    outcome = correct(door, study, "rename", {"judge": "second", "to": "third"})
    assert outcome.made is (door == "command"), outcome.text


@each_door
def test_a_study_gets_another_short_name(study: Study, door: str) -> None:
    assert correct(door, study, "rename", {"to": "Study-2"}).made

    renamed = Study.objects.get(pk=study.pk)
    assert renamed.slug == "Study-2"
    assert renamed.events.get().changes == {"short_name": ["study", "Study-2"]}
    add_instances(renamed, instance_rows(prefix="more"))

    with pytest.raises(UnknownStudy, match="its short name is Study-2"):
        find_study("study")
    boss_user = make_user("boss", "study-admin", study=renamed)
    boss = signed_in(boss_user)
    assert boss.get("/studies/study/log/?page=1")["Location"] == "/studies/Study-2/log/?page=1"
    assert boss.post("/studies/study/settings/").status_code == 404
    stranger = make_user("stranger", "researcher", study=make_study("elsewhere"))
    assert signed_in(stranger).get("/studies/study/log/").status_code == 404
    for method in ("get", "post"):
        address = f"/api/v1/studies/study/{'findings' if method == 'get' else 'rename'}/"
        told, hidden = (getattr(signed_in(user), method)(address) for user in (boss_user, stranger))
        assert (told.status_code, "its short name is Study-2" in told.json()["detail"]) == (404, True)
        assert (hidden.status_code, "Study-2" in hidden.text) == (404, False)
    other = make_study("study")
    assert find_study("study") == other


def test_the_log_has_both_titles(study: Study) -> None:
    save_settings(study=study, title="Second")

    assert study.events.get().changes == {"title": ["study", "Second"]}


@pytest.mark.parametrize(
    ("link", "asked"), [({"study": "x"}, set()), ({"system": "alpha"}, {"system"}), ({}, {"system", "judge"})]
)
def test_a_link_asks_for_no_other_kind(study: Study, link: dict[str, str], asked: set[str]) -> None:
    assert Rename(initial=link, study=study).fields.keys() & {"system", "judge"} == asked


def test_a_plan_that_names_a_judge_before_its_first_run_follows_its_new_name(study: Study) -> None:
    planning = make_study("planning")
    freeze_plan(study=planning, content={"judges": ["first"], "stop_rule": ""})
    study.judge_runs.create(judge=make_judge("longer", name="first", endpoint=None), status="done")
    rename_judge(study=study, name="first", to="second")
    plan = frozen_plan(planning)
    assert plan
    assert content_today(planning, plan)["judges"] == ["second"]
