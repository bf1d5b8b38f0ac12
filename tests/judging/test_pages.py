"""The judges' pages: who sees them, what they show, and that they work without JavaScript."""

from typing import Any

import pytest
from django.db import connection
from django.test import Client
from django.test.utils import CaptureQueriesContext
from django.urls import reverse
from django_tasks_db.models import DBTaskResult

from annotation.models import Study
from judging.models import Judge, JudgeRun, Judgment
from judging.services.runs import start_run
from tests.fakes import ScriptedClient
from tests.judging.builders import judge_with, make_endpoint, make_judge, make_study, make_user

pytestmark = pytest.mark.django_db


@pytest.fixture
def study() -> Study:
    return make_study()


@pytest.fixture
def researcher(client: Client, study: Study) -> Client:
    client.force_login(make_user("rea", "researcher", study), backend="django.contrib.auth.backends.ModelBackend")
    return client


@pytest.fixture
def run(study: Study) -> JudgeRun:
    script = ["<b>Hm</b>"] * 3 + ["I'm sorry, I can't."]
    judge_with(ScriptedClient(script, then="Comparison: <i>nice</i>.\nPreferred: A"), study, make_judge(), in_flight=1)
    return JudgeRun.objects.get()


def pages(run: JudgeRun) -> list[str]:
    judgment = run.judgments.earliest("pk")
    return [
        reverse("judging:judges", args=["tea"]),
        reverse("judging:run", args=["tea", run.pk]),
        reverse("judging:judgment", args=["tea", judgment.pk]),
    ]


@pytest.mark.parametrize("role", ["", "annotator"])
def test_pages_are_not_there_for_strangers_and_annotators(
    client: Client, study: Study, run: JudgeRun, role: str
) -> None:
    client.force_login(make_user("sam", role, study), backend="django.contrib.auth.backends.ModelBackend")
    assert [client.get(page).status_code for page in pages(run)] == [404, 404, 404]
    for name in ("judging:start", "judging:new-judge"):
        assert client.post(reverse(name, args=["tea"]), {"judge": "judy", "in_flight": 1}).status_code == 404


def test_pages_of_another_study_do_not_show_this_ones(researcher: Client, run: JudgeRun) -> None:
    other = make_study("coffee", instances=1)
    researcher.force_login(make_user("rob", "researcher", other), backend="django.contrib.auth.backends.ModelBackend")
    judgment = run.judgments.earliest("pk")
    assert researcher.get(reverse("judging:run", args=["coffee", run.pk])).status_code == 404
    assert researcher.get(reverse("judging:judgment", args=["coffee", judgment.pk])).status_code == 404


def test_visitor_is_sent_to_sign_in(client: Client, run: JudgeRun) -> None:
    assert [client.get(page).status_code for page in pages(run)] == [302, 302, 302]


def test_run_page_shows_counts_and_escapes_what_models_wrote(researcher: Client, run: JudgeRun) -> None:
    page = researcher.get(pages(run)[1]).content.decode()
    for name, count in {"asked": 6, "a": 4, "tie": 0, "b": 0, "unparsed": 1, "refused": 1, "errors": 0}.items():
        assert f'<td data-count="{name}">{count}</td>' in page
    assert "&lt;b&gt;Hm&lt;/b&gt;" in page
    assert "<b>Hm</b>" not in page
    assert "1.00" in page  # the first shown text won every time
    assert "hx-get" not in page  # nothing moves any more


def test_no_page_holds_inline_script_or_style(researcher: Client, run: JudgeRun) -> None:
    for page in pages(run):
        text = researcher.get(page).content.decode()
        main = text[text.index("<main") : text.index("</main>")]
        assert "<script" not in main
        assert "style=" not in main
        assert "onclick" not in main


@pytest.mark.parametrize("status", ["queued", "running"])
def test_moving_run_is_polled_and_the_partial_is_the_progress_alone(
    researcher: Client, run: JudgeRun, status: str
) -> None:
    JudgeRun.objects.update(status=status)
    page = pages(run)[1]
    assert 'hx-trigger="every 2s"' in researcher.get(page).content.decode()
    partial = researcher.get(page, headers={"HX-Request": "true"}).content.decode()
    assert partial.lstrip().startswith("<section")
    assert "<progress" in partial
    assert "<html" not in partial


def test_failed_run_says_why_and_offers_to_resume(researcher: Client, run: JudgeRun) -> None:
    JudgeRun.objects.update(status="failed", message="HTTP 401: who are you")
    page = researcher.get(pages(run)[1]).content.decode()
    assert "HTTP 401: who are you" in page
    assert "Run again" in page
    Judgment.objects.filter(status="parsed").update(status="pending", verdict=None)
    assert "Resume" in researcher.get(pages(run)[1]).content.decode()


def test_judgment_page_shows_what_was_sent_and_how_it_was_read(researcher: Client, run: JudgeRun) -> None:
    page = researcher.get(pages(run)[2]).content.decode()
    assert "What was said in talk 0." in page
    assert "Read as <strong>unparsed</strong>" in page
    assert page.count("<article>") == 3
    assert "&lt;b&gt;Hm&lt;/b&gt;" in page
    assert "11 tokens in" in page


def test_judgment_page_of_an_open_cell_shows_what_will_be_sent(researcher: Client, study: Study) -> None:
    run = start_run(study=study, judge=make_judge())
    page = researcher.get(pages(run)[2]).content.decode()
    assert "To be sent" in page
    assert "What was said in talk 0." in page


def test_pages_name_the_model_and_not_where_it_is(researcher: Client, run: JudgeRun) -> None:
    for address in pages(run):
        page = researcher.get(address).content.decode()
        assert "small" in page
        assert "models.example" not in page


def test_judge_is_added_by_form(researcher: Client, study: Study) -> None:
    make_endpoint()
    address = reverse("judging:new-judge", args=["tea"])
    data = {"name": "jo", "method": "direct", "endpoint": "", "order": "both"}
    refused = researcher.post(address, data)
    assert (refused.status_code, Judge.objects.count()) == (422, 0)
    assert "name an endpoint" in refused.content.decode()
    endpoint = make_endpoint(name="other")
    assert researcher.post(address, {**data, "endpoint": endpoint.pk}).status_code == 302
    judge = Judge.objects.get()
    assert (judge.name, judge.endpoint, judge.order) == ("jo", endpoint, "both")


def test_other_settings_under_a_used_name_are_a_conflict_in_words(researcher: Client) -> None:
    make_judge("coin", name="coin")
    data = {"name": "coin", "method": "longer", "order": "ab"}
    answer = researcher.post(reverse("judging:new-judge", args=["tea"]), data)
    assert answer.status_code == 409
    assert "exists with other settings" in answer.content.decode()


def test_run_is_started_by_form_and_left_to_a_worker(
    researcher: Client, study: Study, django_capture_on_commit_callbacks: Any
) -> None:
    make_judge("coin", name="coin")
    with django_capture_on_commit_callbacks(execute=True):
        answer = researcher.post(reverse("judging:start", args=["tea"]), {"judge": "coin", "batch": "", "in_flight": 4})
    run = JudgeRun.objects.get()
    assert answer.headers["Location"] == reverse("judging:run", args=["tea", run.pk])
    assert (run.status, run.in_flight, run.judgments.count()) == ("queued", 4, 6)
    assert DBTaskResult.objects.get().args_kwargs["args"] == [run.pk]


@pytest.mark.parametrize("data", [{"judge": "nobody", "in_flight": 1}, {"judge": "coin", "in_flight": 0}, {}])
def test_bad_start_form_is_shown_again(researcher: Client, data: dict[str, object]) -> None:
    make_judge("coin", name="coin")
    assert researcher.post(reverse("judging:start", args=["tea"]), data).status_code == 422
    assert not JudgeRun.objects.exists()


def test_pages_take_the_same_number_of_queries_however_much_they_show(
    researcher: Client, study: Study, run: JudgeRun
) -> None:
    def queries() -> list[int]:
        found = []
        for page in pages(run):
            with CaptureQueriesContext(connection) as context:
                assert researcher.get(page).status_code == 200
            found.append(len(context))
        return found

    before = queries()
    for number in range(5):
        start_run(study=study, judge=make_judge("coin", name=f"coin-{number}"))
    Judgment.objects.filter(run=run, status="parsed").update(status="refused", verdict=None)
    assert queries() == before
    assert max(before) <= 12


def test_admin_lists_every_table(client: Client, run: JudgeRun) -> None:
    boss = make_user("boss")
    boss.is_staff = boss.is_superuser = True
    boss.save()
    client.force_login(boss, backend="django.contrib.auth.backends.ModelBackend")
    for model in ("endpoint", "judge", "judgerun", "completion", "judgment"):
        assert client.get(reverse(f"admin:judging_{model}_changelist")).status_code == 200
    judgment = run.judgments.earliest("pk")
    assert client.get(reverse("admin:judging_judgment_change", args=[judgment.pk])).status_code == 200
    answer = client.post(
        reverse("admin:judging_endpoint_add"),
        {"name": "in", "base_url": "http://10.0.0.1/", "model": "m", "timeout_seconds": 60, "key_env": "sk-1"},
    )
    assert b"ENDPOINT_ALLOWLIST" in answer.content
    assert b"never give the key itself" in answer.content


def test_run_page_says_when_pairs_have_no_source_text(researcher: Client, study: Study) -> None:
    run = start_run(study=study, judge=make_judge())
    address = f"/studies/{study.slug}/judges/runs/{run.pk}/"
    assert "no source text" not in researcher.get(address).content.decode()

    study.instances.update(source="")

    pairs = run.judgments.count()
    assert f"{pairs} pairs have no source text" in researcher.get(address).content.decode()
