"""A study's questions: on the settings page and in its preview, from a shell, by the API, and after the first vote."""

import json
from typing import Any

import pytest
from django.core.management import call_command

from annotation.core.errors import SettingFixed
from annotation.importing.new_studies import copy_study
from annotation.models import Event, Study
from annotation.studies.services import save_settings
from tests.annotation.studies.test_study_settings import admin, form_data
from tests.factories import claim, make_annotator, make_batch, make_study, output_of, rate

pytestmark = [pytest.mark.django_db, pytest.mark.slow]

SETTINGS, PREVIEW = "/studies/study/settings/", "/studies/new/questions/"
COHERENCE = {
    "key": "coherence",
    "text": "Which one is more coherent?",
    "description": "As a whole.",
    "ties_allowed": False,
    "strength": True,
    "tie_kinds": False,
}
SENT = {
    "criteria-0-key": "coherence",
    "criteria-0-text": "Which one is more coherent?",
    "criteria-0-description": "As a whole.",
    "criteria-0-strength": "on",
}


def test_the_rows_of_the_page_are_stored_and_shown_again() -> None:
    make_study()
    client = admin()

    # The row left empty between two others, though its box is ticked, is not asked.
    sent = {**SENT, "criteria-1-ties_allowed": "on", "criteria-2-key": "b", "criteria-2-text": "B?"}
    response = client.post(SETTINGS, form_data(Study.objects.get(), **sent, first_reason="required", strength="on"))

    assert response.status_code == 302
    study = Study.objects.get()
    assert study.criteria == [COHERENCE, {**COHERENCE, "key": "b", "text": "B?", "description": "", "strength": False}]
    assert (study.first_reason, study.strength, study.tie_kinds) == ("required", True, False)
    page = client.get(SETTINGS).text
    assert 'value="Which one is more coherent?"' in page
    assert client.get("/studies/study/").text.count("(coherence)") == 1


def test_what_is_wrong_with_a_row_is_told_and_the_row_is_kept() -> None:
    make_study()
    client = admin()

    response = client.post(SETTINGS, form_data(Study.objects.get(), **{**SENT, "criteria-0-key": "Zusammenhang!"}))

    assert response.status_code == 422
    assert "Question 2: a key has small letters" in response.text
    assert 'value="Zusammenhang!"' in response.text
    assert Study.objects.get().criteria == []


def test_questions_from_a_shell(capsys: pytest.CaptureFixture[str]) -> None:
    make_study()

    call_command("configure_study", "study", f"criteria={json.dumps([COHERENCE])}", "tie_kinds=true")

    assert Study.objects.get().criteria == [COHERENCE]
    capsys.readouterr()
    assert json.loads(output_of("configure_study", "study", "criteria=", "--format", "json"))["changed"] == {
        "criteria": [[COHERENCE], []]
    }


def test_questions_by_the_api() -> None:
    make_study()
    client = admin()

    def patch(**body: Any) -> Any:
        return client.patch("/api/v1/studies/study/", json.dumps(body), content_type="application/json")

    answer = patch(criteria=[{"key": "coherence", "text": "Which one is more coherent?"}], first_reason="optional")
    assert answer.status_code == 200
    assert answer.json()["criteria"][0]["ties_allowed"] is True
    assert client.get("/api/v1/studies/study/").json()["first_reason"] == "optional"
    refused = patch(criteria=[{"key": "coherence"}])
    assert refused.status_code == 422


def test_a_copy_asks_the_same_questions() -> None:
    study = make_study()
    save_settings(study=study, criteria=[COHERENCE], strength=True, first_reason="required")

    copy = copy_study(study=Study.objects.get(), slug="again", group=study.group)

    assert (copy.criteria, copy.strength, copy.first_reason) == ([COHERENCE], True, "required")


def test_after_the_first_vote_questions_are_reworded_only_and_that_is_logged() -> None:
    study = make_study()
    save_settings(study=study, criteria=[COHERENCE])
    make_batch(study)
    rate(claim(make_annotator(study)), submit=False)
    reworded = [{**COHERENCE, "text": "Which one holds together?"}]

    save_settings(study=study, reason="It was misread.", criteria=reworded)
    with pytest.raises(SettingFixed):
        save_settings(study=study, reason="More.", criteria=[*reworded, {"key": "b", "text": "B?"}])
    with pytest.raises(SettingFixed):
        save_settings(study=study, reason="None.", criteria=[])

    assert Study.objects.get().criteria == reworded
    assert Event.objects.get(kind="amendment").changes == {"criteria": [[COHERENCE], reworded]}
    log = admin().get("/studies/study/log/").text
    assert "coherence: Which one holds together?; As a whole.; ties_allowed=no; strength=yes" in log
