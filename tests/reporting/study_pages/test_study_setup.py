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

from annotation.importing.new_studies import create_study
from annotation.models import ImportRecord, ResearchGroup, RoleGrant, Study, Upload
from annotation.models.members import main_group
from annotation.studies.presets import TEMPLATES, BatchDefaults, StudyTemplate, batch_defaults, find_template
from annotation.studies.settings_form import checked_settings
from reporting.uploads.jobs import SMALL, read_files
from tests.factories import add_instances, instance_rows, json_lines, make_study, make_user, signed_in, study_line
from tests.howto import text_of

pytestmark = [pytest.mark.django_db, pytest.mark.slow]

ROOT = Path(__file__).resolve().parent.parent.parent.parent


@pytest.fixture
def client() -> Client:
    return signed_in(make_user("researcher", "researcher"))


def form_data(**changes: Any) -> dict[str, Any]:
    """Return the page's form as a browser would send it."""
    kept = {name: value for name, value in changes.items() if value is not None}
    return {"slug": "fresh", "template": "blank", "kind": "auto", **kept}


# Templates


@pytest.mark.parametrize("template", TEMPLATES.values(), ids=TEMPLATES)
def test_a_template_is_a_valid_study_as_it_is(template: StudyTemplate) -> None:
    checked = checked_settings(template.study(), {"title": template.name})
    study, said = create_study(
        slug=template.name, group=main_group(), settings={**template.settings, **checked}, template=template
    )

    assert not said
    assert (study.title, study.task_kind) == (template.name, template.study().task_kind)
    for name, value in template.settings.items():
        stored = getattr(Study.objects.get(), name)
        assert (str(stored) if isinstance(stored, Decimal) else stored) == value


def test_the_plan_of_a_batch_is_the_studys_own_where_that_was_changed() -> None:
    template = find_template("pilot")
    study, _ = create_study(
        slug="s", group=main_group(), settings={**template.settings, "raters_per_hit": 7}, template=template
    )
    assert batch_defaults(study) == BatchDefaults("random:10", pairs=5, raters=7)
    add_instances(study, instance_rows(instances=10))
    assert batch_defaults(study).select == "all"
    add_instances(study, instance_rows(instances=11))
    assert batch_defaults(study).select == "random:10"
    record = ImportRecord.objects.get()
    assert (record.kind, record.file_name, len(record.sha256)) == ("template", "pilot", 64)
    assert batch_defaults(make_study("plain", instances=0)) == BatchDefaults("all", 5, 3)


# The page


def test_a_study_is_made_without_a_file(client: Client) -> None:
    response = client.post("/studies/new/", form_data(template="two-stage"), follow=True)

    assert response.redirect_chain == [("/studies/fresh/", 302)]
    study = Study.objects.get()
    assert (study.title, study.protocol, study.arms) == ("Study", "two-stage", ["none", "table:c8"])
    assert (study.raters_per_hit, study.balance_arms, study.minutes_per_hit) == (4, True, 8)
    assert study.guidelines.startswith("You are asked twice")
    assert batch_defaults(study) == BatchDefaults("random:50", 5, 4)
    assert "template two-stage" in " ".join(response.text.split())
    assert RoleGrant.objects.get(study=study).user.username == "researcher"


@pytest.mark.parametrize(
    ("changes", "field"),
    [({"slug": "new"}, "slug"), ({"slug": "with space"}, "slug"), ({"kind": "poem", "file": True}, "kind")],
)
def test_what_is_wrong_is_told_at_its_field(client: Client, changes: dict[str, Any], field: str) -> None:
    if "file" in changes:
        changes = {**changes, "file": SimpleUploadedFile("f.jsonl", json_lines([study_line("a")]))}
    response = client.post("/studies/new/", form_data(**changes))
    assert response.status_code == 422
    assert list(response.context["form"].errors) == [field]
    assert response.text.count("<details open>") == 1
    assert not Study.objects.exists()


def sent(*files: tuple[str, bytes], **changes: Any) -> dict[str, Any]:
    return form_data(slug="", file=[SimpleUploadedFile(*file) for file in files], **changes)


def test_files_give_a_study_its_name(client: Client) -> None:
    for slug in ("my-texts-v2", "my-texts-v2-2"):
        file = ("My texts.v2.jsonl", json_lines([study_line("a"), study_line("b")]))
        response = client.post("/studies/new/", sent(file, template="pilot"), follow=True)
        assert response.redirect_chain[-1] == (f"/studies/{slug}/", 302)
        assert "My texts.v2.jsonl: 2 instances added" in response.text
        study = Study.objects.get(slug=slug)
        assert (study.title, study.instances.count(), study.pairs_per_hit) == ("My texts.v2", 2, 3)
        assert sorted(study.imports.values_list("kind", flat=True)) == ["study", "template"]


@pytest.mark.parametrize(
    ("name", "slug", "title"),
    [
        ("my_file-v2.jsonl", "my_file-v2", "My file v2"),
        ("news_2024-05-01.jsonl", "news_2024-05-01", "News 2024-05-01"),
        ("__.jsonl", "study", "__"),
    ],
)
def test_a_title_of_a_file_is_readable(client: Client, name: str, slug: str, title: str) -> None:
    client.post("/studies/new/", sent((name, json_lines([study_line("a")]))))
    assert Study.objects.values_list("slug", "title").get() == (slug, title)


def test_sources_alone_are_shown_before_a_study_is_made_of_them(client: Client) -> None:
    lines = json_lines([{"instance_id": "a", "source": "Say a."}])
    look = client.post("/studies/new/", sent(("s.jsonl", lines)), follow=True)
    assert (look.context["look"].kind, Study.objects.exists()) == ("sources", False)
    values = {name: look.context["form"][name].value() or "" for name in look.context["form"].fields}
    client.post(look.redirect_chain[-1][0], {**values, "import": ""})
    assert Study.objects.get().instances.count() == 1


def test_outputs_of_two_systems_are_a_study_of_instructions(client: Client) -> None:
    files = [
        (f"{name}.json", json.dumps([{"instruction": "Say a.", "output": name, "generator": name}]).encode())
        for name in ("left", "right")
    ]
    client.post("/studies/new/", sent(*files))
    study = Study.objects.get()
    assert (study.slug, study.title, study.task_kind) == ("left-vs-right", "left vs right", "instruction")
    assert [system.name for system in study.systems.all()] == ["left", "right"]


def test_files_of_no_known_form_are_looked_at_first(client: Client) -> None:
    data = json.dumps([{"place": 1, "prompt": "Say a.", "answer_x": "a", "answer_y": "b"}]).encode()
    look = client.post("/studies/new/", sent(("foreign.json", data)))
    assert not Study.objects.exists()
    address = look.headers["Location"]
    page = client.get(address)
    mapping = page.context["form"]["mapping"].value()
    texts = ["generations.answer_x=answer_x", "generations.answer_y=answer_y"]
    assert mapping.splitlines() == ["instance_id=#", "source=prompt", *texts]
    assert signed_in(make_user("other", "researcher")).get(address).status_code == 404

    values = {name: page.context["form"][name].value() or "" for name in page.context["form"].fields}
    unmapped = client.post(address, {**values, "mapping": mapping.partition("\n")[2], "import": ""})
    assert [problem[0] for problem in unmapped.context["look"].problems] == [1]
    again = client.post(address, {**values, "mapping": mapping.replace("#", "place"), "look": ""})
    assert (again.status_code, len(again.context["pairs"])) == (200, 1)
    assert not Study.objects.exists()
    mapped = {**values, "mapping": mapping.replace("#", "place"), "import": ""}
    assert client.post(address, mapped, follow=True).redirect_chain[-1] == ("/studies/foreign/", 302)
    assert Study.objects.get().instances.get().instance_id == "1"


def test_files_that_are_refused_leave_no_study(client: Client) -> None:
    lines = [study_line(f"i{number}") for number in range(60)]  # more than are looked at
    refused = client.post("/studies/new/", sent(("bad.jsonl", json_lines([*lines, {"instance_id": "b"}]))), follow=True)
    assert not Study.objects.exists()
    assert [line.number for line in refused.context["bad_lines"]] == [61, 61]
    address = refused.redirect_chain[-1][0]
    values = {name: refused.context["form"][name].value() or "" for name in refused.context["form"].fields}
    assert client.post(address, {**values, "slug": "new", "import": ""}).status_code == 422
    assert client.get(address).context["form"]["slug"].value() == "bad"


@pytest.mark.parametrize("last", [study_line("last"), {"instance_id": "bad"}], ids=["good", "bad"])
def test_a_large_file_is_followed_to_its_study_or_its_refusal(client: Client, last: dict[str, Any]) -> None:
    lines = [study_line(f"i{number}", source="s" * 2000) for number in range(100)]
    address = client.post("/studies/new/", sent(("large.jsonl", json_lines([*lines, last])))).headers["Location"]
    upload = Upload.objects.get()
    assert upload.size > SMALL
    assert f'hx-get="{address}"' in client.get(address).text
    read_files.call(upload.pk)
    followed, page = client.get(address, headers={"HX-Request": "true"}), client.get(address)
    if "source" in last:
        assert (followed.headers["HX-Redirect"], page.headers["Location"]) == ("/studies/large/", "/studies/large/")
    else:
        assert followed.headers["HX-Refresh"] == "true"
        assert [line.number for line in page.context["bad_lines"]] == [101, 101]
        assert not Study.objects.exists()


def test_who_reads_in_several_groups_chooses_one_of_them() -> None:
    user = make_user("researcher", "researcher")
    second, foreign = (ResearchGroup.objects.create(slug=slug, name=slug.title()) for slug in ("second", "foreign"))
    RoleGrant.objects.create(user=user, role="study-admin", group=second)
    client = signed_in(user)
    page = client.get("/studies/new/").text
    assert '<option value="second">Second</option>' in page
    assert "foreign" not in page

    assert client.post("/studies/new/", form_data(group="foreign")).status_code == 422
    assert client.post("/studies/new/", form_data(group="second")).status_code == 302
    assert client.post("/studies/new/", form_data(slug="third", group=None)).status_code == 302

    assert dict(Study.objects.values_list("slug", "group__slug")) == {"fresh": "second", "third": "main"}
    assert foreign.studies.count() == 0


# From a shell


def test_a_study_is_made_from_a_shell(capsys: pytest.CaptureFixture[str], tmp_path: Any) -> None:
    file = tmp_path / "texts.jsonl"
    file.write_bytes(json_lines([study_line("a")]))

    call_command(
        "create_study", "fresh", "--template", "paper-004", "--title", "Fresh", "--set", "raters_per_hit=4",
        "--set", "ties_allowed=false", "--set", "pay_per_hit=", "--file", str(file), "--dataset", "news",
    )  # fmt: skip

    assert "--pairs 1 --raters 4 --select all" in capsys.readouterr().out
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
    for wrong in ([f"--file={file}"], ["--template=paper"], ["--set=colour=blue"]):
        with pytest.raises(CommandError):
            call_command("create_study", "fresh", *wrong)
    assert Study.objects.count() == 0


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
    assert "study harbour created from template paper-004, in group main" in said
    assert "batch main: 10 HITs of 5 pairs for 3 raters each = 150 ratings" in said
    assert "study harbour-2 created with the settings of harbour, 12 instances" in said
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
    assert "Create your first study" not in client.get("/studies/").text
    assert client.post("/studies/new/example/").headers["Location"] == "/studies/example-2/"
    assert signed_in(make_user("rater", "annotator")).post("/studies/new/example/").status_code == 403
