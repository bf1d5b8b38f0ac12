"""Making a study: from a template or from nothing, with its first file or without, on the page and from a shell."""

import json
import re
import shlex
from decimal import Decimal
from pathlib import Path
from typing import Any

import pytest
from django.core.files.uploadedfile import SimpleUploadedFile
from django.core.management import CommandError, call_command
from django.test import Client

from annotation.core.arms import Arm
from annotation.core.errors import BadFields, UnknownName
from annotation.importing.new_studies import create_study
from annotation.models import ImportRecord, ResearchGroup, RoleGrant, Study
from annotation.models.members import main_group
from annotation.studies.presets import TEMPLATES, BatchDefaults, StudyTemplate, batch_defaults, find_template
from annotation.studies.settings_form import StudySettingsForm, checked_settings
from tests.factories import json_lines, make_study, make_user, signed_in, study_line
from tests.howto import text_of

pytestmark = [pytest.mark.django_db, pytest.mark.slow]

ROOT = Path(__file__).resolve().parent.parent.parent.parent


@pytest.fixture
def client() -> Client:
    return signed_in(make_user("researcher", "researcher"))


def form_data(client: Client, template: str = "blank", **changes: Any) -> dict[str, Any]:
    """Return the page's form as a browser would send it."""
    page = client.get("/studies/new/", {"template": template})
    form, settings = page.context["form"], page.context["settings"]
    sent = {name: form[name].value() for name in form.fields} | {
        name: settings[name].value() for name in settings.fields
    }
    kept = {name: value for name, value in sent.items() if value not in (None, False)}
    return {"slug": "fresh", **kept, **{name: value for name, value in changes.items() if value is not None}}


# Templates


@pytest.mark.parametrize("template", TEMPLATES.values(), ids=TEMPLATES)
def test_a_template_is_a_valid_study_as_it_is(template: StudyTemplate) -> None:
    checked = checked_settings(template.study(), {"title": template.name})
    study, said = create_study(
        slug=template.name, group=main_group(), settings={**template.settings, **checked}, template=template
    )

    assert said == ""
    assert (study.title, study.task_kind) == (template.name, template.study().task_kind)
    for name, value in template.settings.items():
        stored = getattr(Study.objects.get(), name)
        assert (str(stored) if isinstance(stored, Decimal) else stored) == value


def test_the_first_template_is_the_set_up_of_the_study_on_separability() -> None:
    template = find_template("paper-004")
    study = template.study()

    assert template.batch == BatchDefaults("random:50", pairs=5, raters=3)
    assert (study.pairs_per_hit, study.raters_per_hit, study.ties_allowed) == (5, 3, True)
    assert (study.protocol, study.pair_order, study.task_kind) == ("one-stage", "random", "summarization")


def test_two_stage_templates_have_places_for_every_arm_alike() -> None:
    template = find_template("two-stage")
    arms = [Arm.parse(name) for name in template.settings["arms"]]

    assert any(arm.shows_table for arm in arms)
    assert not all(arm.shows_table for arm in arms)
    assert template.batch.raters % len(arms) == 0


def test_an_unknown_template_is_refused_with_those_that_there_are() -> None:
    with pytest.raises(UnknownName, match="there is no template 'paper'; there are blank, paper-004"):
        find_template("paper")


def test_the_plan_of_a_batch_is_the_studys_own_where_that_was_changed() -> None:
    template = find_template("pilot")
    study, _ = create_study(
        slug="s", group=main_group(), settings={**template.settings, "raters_per_hit": 7}, template=template
    )
    assert batch_defaults(study) == BatchDefaults("random:10", pairs=5, raters=7)
    record = ImportRecord.objects.get()
    assert (record.kind, record.file_name, len(record.sha256)) == ("template", "pilot", 64)
    assert batch_defaults(make_study("plain", instances=0)) == BatchDefaults("all", 5, 3)


# The page


def test_the_page_asks_for_little_and_keeps_the_rest_folded(client: Client) -> None:
    page = client.get("/studies/new/").text

    seen = page.split("<details", 1)[0]
    for name in ("slug", "title", "task_kind", "question", "pairs_per_hit", "raters_per_hit", "file"):
        assert f'id="id_{name}"' in seen
    for name in StudySettingsForm.base_fields:
        assert page.count(f'id="id_{name}"') == 1
    assert page.count("<details") == page.count("<details>") + page.count("<details >") > 4
    assert 'id="id_group"' not in page
    for template in TEMPLATES.values():
        assert str(template.title) in page


def test_a_template_fills_the_page_in(client: Client) -> None:
    page = client.get("/studies/new/", {"template": "paper-004"})

    assert '<strong aria-current="true">Preferences by separability</strong>' in page.text
    settings = page.context["settings"]
    assert (settings["pay_per_hit"].value(), settings["minutes_per_hit"].value()) == ("1.20", 4)
    assert client.get("/studies/new/", {"template": "nope"}).context["template"].name == "blank"


def test_a_study_is_made_without_a_file(client: Client) -> None:
    response = client.post("/studies/new/", form_data(client, "two-stage", raters_per_hit="6"), follow=True)

    assert response.redirect_chain == [("/studies/fresh/", 302)]
    study = Study.objects.get()
    assert (study.title, study.protocol, study.arms) == ("fresh", "two-stage", ["none", "table:c8"])
    assert (study.raters_per_hit, study.balance_arms, study.minutes_per_hit) == (6, True, 8)
    assert study.guidelines.startswith("You are asked twice")
    assert batch_defaults(study) == BatchDefaults("random:50", 5, 6)
    assert "template two-stage" in " ".join(response.text.split())
    assert RoleGrant.objects.get(study=study).user.username == "researcher"


def test_what_the_page_sends_is_what_is_stored_and_a_box_left_empty_is_off(client: Client) -> None:
    sent = form_data(
        client, "paper-004", title="Mine", pay_per_hit="", currency="", gold_warn_below="0.6", most_hits_per_rater="20"
    )  # fmt: skip
    del sent["ties_allowed"], sent["balance_arms"]

    assert client.post("/studies/new/", sent).status_code == 302

    study = Study.objects.get()
    assert (study.title, study.ties_allowed, study.balance_arms) == ("Mine", False, False)
    assert (study.pay_per_hit, study.currency, study.gold_warn_below) == (None, "", 0.6)
    assert (study.most_hits_per_rater, study.question) == (20, "Which summary do you prefer?")


def test_a_script_that_sends_the_first_fields_only_gets_the_templates_rest(client: Client) -> None:
    sent = {"slug": "fresh", "template": "paper-004", "question": "Which one?"}

    assert client.post("/studies/new/", sent).status_code == 302

    study = Study.objects.get()
    assert (study.question, study.ties_allowed, study.pay_per_hit) == ("Which one?", True, Decimal("1.20"))


WRONG = [
    ({"slug": "new"}, "form", "slug", "This name is taken."),
    ({"slug": "with space"}, "form", "slug", "Letters, digits, dashes"),
    ({"pairs_per_hit": "0"}, "settings", "pairs_per_hit", "greater than or equal to 1"),
    ({"protocol": "two-stage"}, "settings", "arms", "needs one arm or more"),
    ({"task_kind": "poem"}, "settings", "task_kind", "valid choice"),
]


def test_what_is_wrong_is_told_at_its_field_and_the_rest_is_kept(client: Client) -> None:
    sent = form_data(client, guidelines="Look **twice**.")

    for changes, form, field, problem in WRONG:
        response = client.post("/studies/new/", {**sent, **changes})

        assert response.status_code == 422, changes
        assert problem in " ".join(map(str, response.context[form].errors[field])), changes
        assert "Look **twice**." in response.text
    assert Study.objects.count() == 0


def test_a_group_with_a_wrong_field_is_unfolded(client: Client) -> None:
    response = client.post("/studies/new/", form_data(client, pay_per_hit="1"))

    assert "in which currency" in " ".join(map(str, response.context["settings"].errors["currency"]))
    opened = [str(group.title) for group in response.context["settings"].further if group.is_wrong]
    assert opened == ["Pay"]
    assert response.text.count("<details open>") == 1


def test_a_bad_first_file_leaves_the_study_as_it_was_filled_in(client: Client) -> None:
    file = SimpleUploadedFile("bad.jsonl", json_lines([study_line("a"), {"instance_id": "b"}]))

    response = client.post("/studies/new/", form_data(client, "paper-004", title="Mine", file=file), follow=True)

    assert "source is missing" in response.text
    study = Study.objects.get()
    assert (study.title, study.instances.count()) == ("Mine", 0)
    assert list(study.imports.values_list("kind", flat=True)) == ["template"]


def test_a_study_is_made_with_its_first_file(client: Client) -> None:
    file = SimpleUploadedFile("f.jsonl", json_lines([study_line("a"), study_line("b")]))

    response = client.post("/studies/new/", form_data(client, "pilot", file=file), follow=True)

    assert "f.jsonl: 2 instances added (study fresh)" in response.text
    study = Study.objects.get()
    assert (study.instances.count(), study.pairs_per_hit) == (2, 3)
    assert sorted(study.imports.values_list("kind", flat=True)) == ["study", "template"]
    assert response.text.count("f.jsonl") == 2  # the message and the list of files, which has no template
    assert "<td>pilot</td>" not in response.text


def test_who_reads_in_several_groups_chooses_one_of_them() -> None:
    user = make_user("researcher", "researcher")
    second, foreign = (ResearchGroup.objects.create(slug=slug, name=slug.title()) for slug in ("second", "foreign"))
    RoleGrant.objects.create(user=user, role="study-admin", group=second)
    client = signed_in(user)
    page = client.get("/studies/new/").text
    assert '<option value="second">Second</option>' in page
    assert "foreign" not in page

    assert client.post("/studies/new/", form_data(client, group="foreign")).status_code == 422
    assert client.post("/studies/new/", form_data(client, group="second")).status_code == 302
    assert client.post("/studies/new/", form_data(client, slug="third", group=None)).status_code == 302

    assert dict(Study.objects.values_list("slug", "group__slug")) == {"fresh": "second", "third": "main"}
    assert foreign.studies.count() == 0


def test_a_study_leads_to_its_pages(client: Client) -> None:
    make_study(instances=1)
    manager = signed_in(make_user("manager", "study-admin"))
    inside = {
        *("instances/", "plan/", "channels/", "reports/", "judges/", "findings/", "log/", "upload/", "copy/", "files/")
    }
    more = {"settings/", "members/", "batches/new/"}
    for one, shown in ((client, inside), (manager, inside | more)):
        entries = ("", "instances/", "channels/", "judges/", "findings/")
        pages = "".join(one.get(f"/studies/study/{entry}").text for entry in entries)
        linked = set(re.findall(r'href="/studies/study/([^"?#]*)"', pages))
        assert linked & (inside | more) == shown
        assert {one.get(f"/studies/study/{page}").status_code for page in shown} == {200}


# From a shell


def test_a_study_is_made_from_a_shell(capsys: pytest.CaptureFixture[str], tmp_path: Any) -> None:
    file = tmp_path / "texts.jsonl"
    file.write_bytes(json_lines([study_line("a")]))

    call_command(
        "create_study", "fresh", "--template", "paper-004", "--title", "Fresh", "--set", "raters_per_hit=4",
        "--set", "ties_allowed=no", "--set", "pay_per_hit=", "--file", str(file), "--dataset", "news",
    )  # fmt: skip

    assert "--pairs 5 --raters 4 --select random:50" in capsys.readouterr().out
    study = Study.objects.get()
    assert (study.title, study.raters_per_hit, study.ties_allowed) == ("Fresh", 4, False)
    assert (study.pay_per_hit, study.minutes_per_hit) == (None, 4)
    assert study.instances.get().dataset == "news"


def test_json_of_a_new_study_is_one_document(capsys: pytest.CaptureFixture[str]) -> None:
    ResearchGroup.objects.create(slug="second", name="Second")

    call_command("create_study", "fresh", "--template", "pilot", "--group", "second", "--format", "json")

    told = json.loads(capsys.readouterr().out)
    assert (told["study"], told["group"], told["template"], told["file"]) == ("fresh", "second", "pilot", None)
    assert told["batch"] == {"pairs": 3, "raters": 2, "select": "random:10"}
    assert told["settings"]["most_hits_per_rater"] == 10


def test_a_bad_file_from_a_shell_leaves_no_study_behind(tmp_path: Any) -> None:
    file = tmp_path / "texts.jsonl"
    file.write_bytes(b"{\n")
    with pytest.raises(CommandError, match=r"texts\.jsonl: 1 bad line; nothing was stored"):
        call_command("create_study", "fresh", "--file", str(file))
    assert Study.objects.count() == 0


def test_settings_that_are_none_are_named() -> None:
    with pytest.raises(BadFields, match="colour: No such setting"):
        checked_settings(Study(), {"colour": "blue"})


def test_the_commands_of_the_page_on_it_do_what_it_says(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    page = text_of("docs/howto/set_up_a_study.md#from-a-question-to-a-study")
    monkeypatch.chdir(ROOT)
    for block in re.findall(r"```sh\n(.*?)```", page, re.DOTALL):
        for line in block.strip().splitlines():
            program, *arguments = shlex.split(line)
            assert program == "./manage.py"
            call_command(*arguments)

    said = capsys.readouterr().out
    assert "study harbour made from template paper-004, in group main" in said
    assert "batch main: 10 HITs of 5 pairs for 3 raters each = 150 ratings" in said
    assert "study harbour-2 made with the settings of harbour, 12 instances" in said
    assert Study.objects.get(slug="harbour").archived_at is None
    for template in TEMPLATES:
        assert f"| `{template}` |" in page


# The first minutes


def test_an_empty_server_opens_on_the_first_study_with_the_example_as_a_choice(client: Client) -> None:
    first = client.get("/", follow=True)
    assert 'href="/studies/new/"' in first.text

    loaded = client.post("/studies/new/example/", follow=True)
    assert loaded.redirect_chain == [("/studies/example/", 302)]
    assert "4 scripted raters: programs, not people" in loaded.text
    assert [step.key for step in loaded.context["steps"] if step.state == "next"] == ["judges"]
    assert RoleGrant.objects.get(study__slug="example").role == "study-admin"
    assert "Make your first study" not in client.get("/studies/").text
    assert client.post("/studies/new/example/").headers["Location"] == "/studies/example-2/"
    assert signed_in(make_user("rater", "annotator")).post("/studies/new/example/").status_code == 403
