"""A study's settings: on the page, from a shell, what votes fix, and the tables that arms need."""

import json
from decimal import Decimal
from typing import Any

import pytest
from django.contrib.auth.models import User
from django.core.management import CommandError, call_command
from django.test import Client
from django.urls import reverse

from annotation.batches.services import set_batch_status
from annotation.core.errors import InvalidSelection, SettingFixed
from annotation.models import Batch, Pair, Study
from annotation.studies.services import save_settings
from annotation.studies.settings_form import GROUPS, StudySettingsForm
from tests.factories import add_tables, claim, make_annotator, make_batch, make_study, make_user, rate, signed_in

pytestmark = [pytest.mark.django_db, pytest.mark.slow]

TWO_STAGE: dict[str, Any] = {"protocol": "two-stage", "arms": ["none", "table:c8"]}


def pairs_on(instance: str) -> Any:
    return Pair.objects.filter(matchup__instance__instance_id=instance)


def admin() -> Client:
    return signed_in(User.objects.create_superuser("root"))


def form_data(study: Study, **changes: Any) -> dict[str, Any]:
    """Return the settings page's form as a browser would send it; a change to None leaves a field out."""
    sent = {**StudySettingsForm(instance=study).initial, **changes}
    return {name: value for name, value in sent.items() if value is not None and value is not False}


def with_votes(study: Study) -> Study:
    """Have a rater vote."""
    make_batch(study)
    rate(claim(make_annotator(study)), submit=False)
    return study


def store() -> Study:
    return make_study("stored", instances=1, dataset="stored")


# The page


def test_the_page_shows_every_setting_in_a_group(study: Study) -> None:
    page = admin().get("/studies/stored/settings/").text

    grouped = [name for _, _, names in GROUPS for name in names]
    assert sorted(grouped) == sorted(StudySettingsForm.base_fields)
    for name in grouped:
        assert page.count(f'id="id_{name}"') == 1


def test_every_setting_is_stored(study: Study) -> None:
    client = admin()
    sent = form_data(
        study, protocol="two-stage", arms="none\r\n table:c8 \r\n\r\nplacebo:c8", arm_unit="instance",
        reason_min_length="5", pair_order="fixed", pay_per_hit="0.75", currency="EUR", minutes_per_hit="4",
        pay_late="on", qualification_share="0.7", qualification_attempts="3", check_pairs_needed="10",
        gold_warn_below="0.6", gold_block_below="0.5", repeat_warn_below="", language="pt-BR", render_markdown="on",
        content_warning="Hard to **read**.",
    )  # fmt: skip

    response = client.post("/studies/stored/settings/", sent)

    assert response.status_code == 302, response.context["form"].errors
    study = Study.objects.get()
    assert study.arms == ["none", "table:c8", "placebo:c8"]
    assert (study.protocol, study.arm_unit, study.reason_min_length, study.pair_order) == (
        "two-stage", "instance", 5, "fixed",
    )  # fmt: skip
    assert (study.pay_per_hit, study.currency, study.minutes_per_hit, study.pay_late) == (
        Decimal("0.75"), "EUR", 4, True,
    )  # fmt: skip
    assert (study.qualification_share, study.qualification_attempts, study.check_pairs_needed) == (0.7, 3, 10)
    assert (study.gold_warn_below, study.gold_block_below, study.repeat_warn_below) == (0.6, 0.5, None)
    assert (study.language, study.render_markdown, study.content_warning) == ("pt-BR", True, "Hard to **read**.")
    shown = client.get("/studies/stored/settings/").text
    assert "none\ntable:c8\nplacebo:c8</textarea>" in shown


@pytest.mark.parametrize(
    ("changes", "field", "problem"),
    [
        ({"arms": "table"}, "arms", "is not an arm"),
        ({"protocol": "two-stage", "arms": ""}, "arms", "needs one arm or more"),
        ({"pay_per_hit": "1"}, "currency", "in which currency"),
        ({"pay_per_hit": "1", "currency": "€"}, "currency", "Three capital letters"),
        ({"pay_per_hit": "-1", "currency": "EUR"}, "pay_per_hit", "greater than or equal to 0"),
        ({"gold_block_below": "50"}, "gold_block_below", "less than or equal to 1"),
        ({"qualification_attempts": "0"}, "qualification_attempts", "greater than or equal to 1"),
        ({"language": "English, mostly"}, "language", "Not a language tag"),
    ],
    ids=str,
)
def test_a_wrong_setting_is_told_at_its_field(study: Study, changes: dict[str, str], field: str, problem: str) -> None:
    form = StudySettingsForm(form_data(study, **changes), instance=study)

    assert problem in " ".join(map(str, form.errors[field]))


def test_nothing_is_stored_beside_a_wrong_setting(study: Study) -> None:
    response = admin().post("/studies/stored/settings/", form_data(study, title="Other", arms="table"))

    assert response.status_code == 422
    assert "is not an arm" in " ".join(map(str, response.context["form"].errors["arms"]))
    study.refresh_from_db()
    assert study.title == "stored"


FIXED: dict[str, Any] = {
    "protocol": "two-stage",
    "arms": ["none"],
    "arm_unit": "instance",
    "ties_allowed": False,
    "pair_order": "fixed",
    "strength": True,
    "tie_kinds": True,
    "question_key": "clarity",
    "criteria": [{"key": "coherence", "text": "Which is more coherent?"}],
    "first_reason": "optional",
}


def test_what_votes_were_given_under_is_fixed() -> None:
    study = with_votes(make_study(arms=["table:c1"]))

    for name, value in FIXED.items():
        with pytest.raises(SettingFixed, match="there are votes") as refused:
            save_settings(study=study, question="Which is clearer?", **{name: value})
        assert list(refused.value.fields) == [name]

    study.refresh_from_db()
    assert study.question != "Which is clearer?"


def test_page_tells_at_its_field_what_votes_have_fixed() -> None:
    study = with_votes(make_study(arms=["table:c1"]))
    client = admin()

    criteria = '[{"key": "coherence", "text": "Which is more coherent?"}]'
    for name, value in (("ties_allowed", None), ("arms", "none"), ("criteria", criteria)):
        response = client.post("/studies/study/settings/", form_data(study, question="Clearer?", **{name: value}))

        assert response.status_code == 422
        assert list(response.context["form"].errors) == [name]


def test_other_settings_and_the_same_ones_may_be_saved_after_votes() -> None:
    study = with_votes(make_study(arms=["table:c1"]))

    saved = save_settings(
        study=study, question="Which is clearer?", arms=["table:c1"], pair_order="random", reason="Too vague."
    )

    assert saved.question == "Which is clearer?"
    with pytest.raises(SettingFixed, match="arms, pair order: there are votes"):
        save_settings(study=study, arms=["none"], pair_order="fixed")


def test_drawn_arms_stay_as_they_are_before_any_vote() -> None:
    study = make_study(**TWO_STAGE)
    add_tables(study, "c8")
    make_batch(study)
    claim(make_annotator(study))

    with pytest.raises(SettingFixed, match="arms are drawn"):
        save_settings(study=study, arms=["none"])
    assert save_settings(study=study, pair_order="fixed", reason="Easier to follow.").pair_order == "fixed"


# Tables that arms need


def test_a_batch_of_a_two_stage_study_needs_every_pairs_table() -> None:
    study = make_study(instances=2, k=2, **TWO_STAGE)
    add_tables(study, pairs=pairs_on("news-1"))

    with pytest.raises(InvalidSelection, match=r"2 of 4 pairs have no comparison table of variant c8 \(arm table:c8\)"):
        make_batch(study)

    assert Batch.objects.count() == 0
    batch = make_batch(study, select="ids", instance_ids=["news-1"])  # only what is on HITs counts
    assert batch.hits.count() == 1
    add_tables(study, pairs=pairs_on("news-2"))
    assert make_batch(study, name="all").hits.count() == 2


def test_only_the_pairs_that_were_sampled_need_tables_and_a_draft_needs_none() -> None:
    study = make_study(instances=1, k=4, **TWO_STAGE)
    draft = make_batch(study, pairs=1, status="draft")

    with pytest.raises(InvalidSelection, match="1 of 1 pairs"):
        set_batch_status(batch=draft, status="open")
    assert Batch.objects.get().status == "draft"
    add_tables(study, pairs=draft.hits.get().pairs.all())
    assert set_batch_status(batch=draft, status="open").status == "open"
    with pytest.raises(InvalidSelection, match="3 of 4 pairs"):
        make_batch(study, name="more", pairs=4)


def test_a_placebo_needs_a_table_of_another_instance() -> None:
    study = make_study(instances=2, k=2, protocol="two-stage", arms=["placebo:c8", "none"])
    with pytest.raises(InvalidSelection, match="for 4 of 4 pairs no other instance has a table of variant c8"):
        make_batch(study)

    add_tables(study, pairs=pairs_on("news-1")[:1])
    with pytest.raises(InvalidSelection, match="for 2 of 4 pairs no other instance"):
        make_batch(study)

    add_tables(study, pairs=pairs_on("news-2")[:1])
    assert make_batch(study).hits.count() == 2


def test_every_variant_that_is_missing_is_named() -> None:
    study = make_study(instances=1, protocol="two-stage", arms=["none", "table:c1", "placebo:c8"])
    with pytest.raises(
        InvalidSelection, match=r"variant c1 \(arm table:c1\); for 2 of 2 pairs .* c8 \(arm placebo:c8\)"
    ):
        make_batch(study)


def test_a_study_whose_raters_are_at_work_becomes_two_stage_with_tables_only() -> None:
    study = make_study(instances=1)
    batch = make_batch(study)
    with pytest.raises(InvalidSelection, match="2 of 2 pairs have no comparison table of variant c8"):
        save_settings(study=study, **TWO_STAGE)
    client = admin()
    refused = client.post("/studies/study/settings/", form_data(study, protocol="two-stage", arms="table:c8"))
    assert refused.status_code == 422
    assert "2 of 2 pairs" in refused.context["form"].errors["arms"][0]
    assert not Study.objects.get(slug="study").is_two_stage

    set_batch_status(batch=batch, status="paused")
    study = save_settings(study=study, **TWO_STAGE)
    batch.refresh_from_db()
    with pytest.raises(InvalidSelection, match="2 of 2 pairs"):
        set_batch_status(batch=batch, status="open")
    add_tables(study, "c8")
    assert set_batch_status(batch=batch, status="open").status == "open"
    with pytest.raises(InvalidSelection, match="variant c1"):
        save_settings(study=study, arms=["table:c1"])


def test_a_qualification_has_no_second_stage_and_needs_no_table() -> None:
    study = make_study(instances=1, **TWO_STAGE)
    study.instances.update(gold={"better": "alpha"})

    assert make_batch(study, name="q", purpose="qualification").hits.count() == 1
    with pytest.raises(InvalidSelection, match="variant c8"):
        make_batch(study, name="g", purpose="gold")


# The command


def configure(capsys: pytest.CaptureFixture[str], *settings: str) -> list[str]:
    call_command("configure_study", "study", *settings)
    return capsys.readouterr().out.strip().splitlines()


def test_settings_from_a_shell_are_checked_stored_and_told(capsys: pytest.CaptureFixture[str]) -> None:
    make_study(contact="me@example.org")

    told = configure(
        capsys, "protocol=two-stage", "arms=none,table:c8,placebo:c8", "reason_min_length=20", "gold_block_below=0.5",
        "contact=", "ties_allowed=false", "pay_late=true", "question=Which one = better?",
    )  # fmt: skip

    assert told == [
        "protocol: one-stage → two-stage",
        "arms: none → none, table:c8, placebo:c8",
        "gold_block_below: nothing → 0.5",
        "contact: me@example.org → nothing",
        "ties_allowed: True → False",
        "pay_late: False → True",
        "question: Which one is better? → Which one = better?",
    ]
    study = Study.objects.get(slug="study")
    assert (study.arms, study.gold_block_below, study.contact) == (["none", "table:c8", "placebo:c8"], 0.5, "")
    assert (study.ties_allowed, study.pay_late, study.question) == (False, True, "Which one = better?")
    assert configure(capsys, "protocol=two-stage", "pay_late=true") == ["nothing changed"]
    assert configure(capsys, "gold_block_below=") == ["gold_block_below: 0.5 → nothing"]


@pytest.mark.parametrize(
    ("setting", "problem"),
    [
        ("colour=blue", r"colour: Unknown setting. Allowed: title, .*protocol, arms"),
        ("protocol", "protocol: give NAME=VALUE"),
        ("seed=3", "seed: Unknown setting"),
        ("pay_late=perhaps", "pay_late: "),
        ("pay_per_hit=1", "currency: "),
        ("criteria=coherence", "list of objects in JSON"),
        ("criteria=" + "[" * 100_000, "list of objects in JSON"),
        ("first_reason=sometimes", "sometimes"),
    ],
    ids=lambda value: value[:40],
)
def test_a_wrong_setting_from_a_shell_is_refused(study: Study, setting: str, problem: str) -> None:
    with pytest.raises(CommandError, match=problem):
        call_command("configure_study", "stored", "title=Other", setting)
    assert Study.objects.get().title == "stored"


def test_families_of_systems_are_set_and_shown(client: Client, capsys: pytest.CaptureFixture[str]) -> None:
    study = make_study()
    call_command("configure_study", "study", "contact=me", "--family", "alpha=birds", "--family", "beta=fish")
    assert "family of alpha: nothing → birds" in capsys.readouterr().out
    assert dict(study.systems.values_list("name", "family")) == {"alpha": "birds", "beta": "fish"}
    call_command("configure_study", "study", "--family", "alpha=birds", "--family", "beta=", "--format", "json")
    assert json.loads(capsys.readouterr().out)["families"] == {"beta": ["fish", ""]}
    client.force_login(make_user("rosa", "researcher", study=study))
    assert "alpha (birds)" in client.get(reverse("annotation:study", args=["study"])).content.decode()


@pytest.mark.parametrize("given", [["contact=me", "--family", "gamma=birds"], ["--family", "alpha"], []])
def test_a_family_of_no_system_is_refused_and_nothing_is_stored(study: Study, given: list[str]) -> None:
    with pytest.raises(CommandError, match=r"no system gamma|give SYSTEM=FAMILY|nothing to change"):
        call_command("configure_study", "stored", *given)
    study.refresh_from_db()
    assert study.contact == ""
    assert set(study.systems.values_list("family", flat=True)) == {""}


def test_settings_are_folded_with_their_defaults_and_what_differs() -> None:
    study = make_study(instances=0, ties_allowed=False, reason_min_length=30)
    groups = {str(group.title): group for group in StudySettingsForm(instance=study).groups}

    assert groups["Questions"].changed == ["Offer “no preference”"]
    assert groups["Two stages"].changed == ["Minimum length of a reason"]
    helps = {field.name: str(field.help_text) for group in groups.values() for field in group.fields}
    assert "Default: on." in helps["ties_allowed"]
    assert "Default: 20." in helps["reason_min_length"]
    assert helps["question"].endswith("Default: Which one is better?")
    assert [name for name, text in helps.items() if text.count("Default:") != 1] == ["title"]
    marked = {field.name for group in groups.values() for field in group.fields if field.is_changed}  # type: ignore[attr-defined]
    assert {"ties_allowed", "reason_min_length"} <= marked
    assert {"pairs_per_hit", "title"}.isdisjoint(marked)
