"""The rater's page beside the settings, as they are typed, before they are saved."""

import re

import pytest
from django.test import Client

from annotation.models import Assignment, Display, Event, Study
from tests.annotation.studies.test_study_settings import form_data
from tests.factories import make_study, make_user, signed_in

pytestmark = [pytest.mark.django_db, pytest.mark.slow]
ADDRESS = "/studies/study/settings/preview/"


@pytest.fixture
def manager() -> Client:
    return signed_in(make_user("manager", "study-admin"))


def shown(browser: Client, study: Study, **changes: object) -> str:
    response = browser.post(ADDRESS, form_data(study, **changes))
    assert response.headers["X-Frame-Options"] == "SAMEORIGIN"
    assert "frame-ancestors 'self'" in response.headers["Content-Security-Policy"]
    return response.text


def test_unsaved_settings_are_shown_on_the_first_texts_and_nothing_is_stored(manager: Client) -> None:
    study = make_study(instances=2, k=3)
    page = shown(manager, study, question="Which one is kinder?", guidelines="Read *slowly*.", pairs_per_hit=2)
    assert "Which one is kinder?" in page
    assert "<em>slowly</em>" in page
    assert "Source of news-1." in page
    assert page.count("data-card") == 2
    assert "alpha" not in page
    assert "beta" not in page
    choices = re.findall(r'<input[^>]*name="choice[^>]*>', page)
    assert len(choices) == 6
    assert all(" disabled" in one for one in choices)
    assert " action=" not in page
    assert not any(model.objects.exists() for model in (Assignment, Display, Event))
    study.refresh_from_db()
    assert (study.pairs_per_hit, study.guidelines) == (5, "")


def test_a_second_stage_is_told_of_and_a_reader_sees_nothing(manager: Client) -> None:
    study = make_study(instances=1)
    assert 'data-action="lock"' in shown(manager, study, protocol="two-stage", arms="none")
    reader = signed_in(make_user("reader", "researcher", study=study))
    assert reader.post(ADDRESS).status_code == 404
