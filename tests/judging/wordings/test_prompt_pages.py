"""The pages of a group's own wordings: who sees them, checking without storing, and that nothing of a text gets out."""

from typing import Any

import pytest
from django.core.files.uploadedfile import SimpleUploadedFile
from django.test import Client
from django.urls import reverse

from annotation.members.groups import create_group
from annotation.models import ResearchGroup, Study
from judging.models import Judge, PromptFile
from judging.wordings.prompt_files import add_prompt
from judging.wordings.prompt_text import LONGEST_FILE, split_prompt
from tests.judging.builders import make_judge, make_study, make_user
from tests.judging.wordings.test_prompt_files import WORDING

pytestmark = [pytest.mark.django_db, pytest.mark.slow]

PAGE = "/studies/tea/prompts/"


@pytest.fixture
def study() -> Study:
    return make_study()


def add(name: str = "mine", text: str = WORDING, group: ResearchGroup | None = None) -> PromptFile:
    return add_prompt(prompt=split_prompt(text), name=name, parser="verdict-line", group=group)[0]


def sent(**changes: Any) -> dict[str, Any]:
    return {"name": "mine", "parser": "verdict-line", "text": WORDING, **changes}


def upload(data: bytes, name: str = "plain.txt") -> SimpleUploadedFile:
    return SimpleUploadedFile(name, data, content_type="text/plain")


def test_pasted_text_becomes_the_groups_prompt(researcher: Client, study: Study) -> None:
    answer = researcher.post(PAGE, sent())
    prompt = PromptFile.objects.get()
    assert answer.headers["Location"] == f"{PAGE}{prompt.pk}/"
    assert (prompt.name, prompt.version, prompt.parser, prompt.text) == ("mine", 1, "verdict-line", WORDING)
    assert prompt.group == study.group
    assert "Prompt mine.v1 added." in researcher.get(PAGE).content.decode()


def test_uploaded_file_says_its_parser_and_lends_its_name(researcher: Client) -> None:
    data = f"---\nparser: letter\n---\n{WORDING}".encode()
    researcher.post(PAGE, {"file": upload(data)})
    assert PromptFile.objects.values_list("name", "parser", "text").get() == ("plain", "letter", WORDING)


@pytest.mark.parametrize(
    "form",
    [
        pytest.param({"name": "mine", "parser": "letter"}, id="nothing"),
        pytest.param(sent(file=upload(b"x")), id="both"),
        pytest.param({"file": upload(b"ab\n\xff")}, id="not UTF-8"),
        pytest.param({"file": upload(b"x" * (LONGEST_FILE + 1))}, id="huge file"),
        pytest.param(sent(text=WORDING + "\x00"), id="NUL in a text"),
        pytest.param(sent(parser="guess"), id="unknown parser"),
        pytest.param({"file": upload(WORDING.encode(), "a b.txt"), "parser": "letter"}, id="file's name"),
    ],
)
def test_what_cant_be_used_is_said_and_not_kept(researcher: Client, form: dict[str, Any]) -> None:
    answer = researcher.post(PAGE, form)
    assert answer.status_code == 422
    assert not PromptFile.objects.exists()


def test_text_that_was_refused_is_still_in_the_form(researcher: Client) -> None:
    answer = researcher.post(PAGE, sent(text="<b>$sauce</b>"))
    assert (answer.status_code, PromptFile.objects.exists()) == (422, False)
    assert "&lt;b&gt;$sauce&lt;/b&gt;</textarea>" in answer.content.decode()


def test_check_shows_the_question_and_stores_nothing(researcher: Client) -> None:
    plain = researcher.post(PAGE, sent(check="1", instance="i1", number=2)).content.decode()
    card = researcher.post(
        PAGE, sent(check="1", instance="i1", number=2), headers={"HX-Request": "true"}
    ).content.decode()
    for answer in (plain, card):
        assert "What was said in talk 1." in answer
        assert answer.index("Heron 1 on talk 1, at length.") < answer.index("Wren 1 on talk 1.")
    assert "<html" in plain
    assert "<html" not in card
    assert not PromptFile.objects.exists()


def test_page_of_a_prompt_shows_its_text_versions_judges_and_question(researcher: Client, study: Study) -> None:
    first = add(group=study.group)
    add(text=WORDING + "\nBe brief.", group=study.group)
    make_judge(name="with-it", prompt_file=first)
    page = reverse("judging:prompt", args=["tea", first.pk])
    whole = researcher.get(page).content.decode()
    for part in ("$first", "Heron 0 on talk 0, at length.", "mine.v1", "with-it", "direct"):
        assert part in whole
    part = researcher.get(page, {"instance": "i2", "number": "2"}, headers={"HX-Request": "true"})
    assert "Heron 1 on talk 2, at length." in part.content.decode()
    assert "<html" not in part.content.decode()
    assert researcher.get(page, {"instance": "i9"}).status_code == 422


def test_pairs_of_another_study_are_not_shown(client: Client) -> None:
    make_study("coffee", instances=5)
    tea = make_study(instances=1)
    client.force_login(make_user("rea", "researcher", tea), backend="annotation.members.signed_in.AccountBackend")
    tea.instances.update(source="Green or black?")
    assert "Green or black?" in client.post(PAGE, sent(check="1")).content.decode()
    assert client.post(PAGE, sent(check="1", instance="i4")).status_code == 422
    page = reverse("judging:prompt", args=["tea", add(group=tea.group).pk])
    assert client.get(page, {"instance": "i4"}).status_code == 422


def test_another_groups_prompts_are_not_there(researcher: Client, study: Study) -> None:
    theirs = add("theirs", WORDING + "\nOur secret.", create_group(slug="theirs"))
    everybodys = add("open")
    page = researcher.get(PAGE).content.decode()
    assert "open" in page
    assert "theirs" not in page
    assert researcher.get(reverse("judging:prompt", args=["tea", theirs.pk])).status_code == 404
    assert researcher.get(reverse("judging:prompt", args=["tea", everybodys.pk])).status_code == 200
    answer = researcher.post(PAGE, sent(name="theirs"))
    assert answer.status_code == 422
    assert "The name theirs is taken" in answer.content.decode()
    assert "secret" not in answer.content.decode()


def test_judges_of_other_groups_are_not_named_on_a_shared_prompts_page(researcher: Client) -> None:
    shared = add("open")
    hidden = make_judge(name="hidden-judge", prompt_file=shared)
    other = make_study("coffee", instances=1)
    other.group = create_group(slug="theirs")
    other.save()
    hidden.runs.create(study=other)
    page = researcher.get(reverse("judging:prompt", args=["tea", shared.pk])).content.decode()
    assert "hidden-judge" not in page
    assert Judge.objects.get().prompt_file == shared


def test_folder_is_read_when_the_page_is_opened(researcher: Client, tmp_path: Any, settings: Any) -> None:
    settings.PROMPT_FOLDER = str(tmp_path)
    (tmp_path / "fine.txt").write_text(f"---\nparser: letter\n---\n{WORDING}", encoding="utf-8")
    (tmp_path / "<b>.txt").write_text("$sauce", encoding="utf-8")
    page = researcher.get(PAGE).content.decode()
    assert ">fine</a>" in page
    assert "all groups" in page
    assert "&lt;b&gt;.txt" in page
    assert "<b>" not in page


def test_folder_is_read_when_a_judge_is_to_be_added(
    researcher: Client, study: Study, tmp_path: Any, settings: Any
) -> None:
    settings.PROMPT_FOLDER = str(tmp_path)
    (tmp_path / "plain.txt").write_text(f"---\nparser: verdict-line\n---\n{WORDING}")

    page = researcher.get(reverse("judging:judges", args=[study.slug]))

    offered = page.context["judge_form"].fields["prompt_file"].queryset
    assert [str(prompt) for prompt in offered] == ["plain.v1"]


def test_list_asks_the_database_no_more_for_more_prompts(
    researcher: Client, study: Study, django_assert_max_num_queries: Any
) -> None:
    for number in range(12):
        add(f"p{number}", group=study.group)
    with django_assert_max_num_queries(9):
        assert researcher.get(PAGE).status_code == 200
