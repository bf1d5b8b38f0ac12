"""Who answered for judges, and prompts that were cut, in findings: the JSON, the page, the text, the report's limits."""

import pytest
from django.test import Client
from django.urls import reverse

from judging.models import Completion, Endpoint, Judge, Judgment
from reporting.report.limitations import limitations_of
from tests.reporting.builders import Built, build_configuration, build_study, findings, judge

pytestmark = [pytest.mark.django_db, pytest.mark.slow]


@pytest.fixture
def built() -> Built:
    """Make a study with two judges: the answers of one are of two models, and half of its prompts were cut."""
    built = build_configuration(build_study("origins"), instances=8, pairs=1)
    endpoint = Endpoint.objects.create(name="e", base_url="https://m.example", model="asked-1")
    for name in ("clean", "mixed"):
        judge(built, name, [(place, 0, "ab", -1) for place in range(8)])
        judgments = list(Judgment.objects.filter(run__judge__name=name).order_by("pk"))
        for place, judgment in enumerate(judgments):
            long = place % 2 and name == "mixed"
            judgment.completions.add(
                Completion.objects.create(
                    cache_key=f"{name} {place}",
                    base_url=endpoint.base_url,
                    request={"messages": []},
                    kind="verdict",
                    prompt_tokens=400 if long else 300 + 7 * place,
                    expected_prompt_tokens=700 + 50 * place if long else 290 + 7 * place,
                    served_model="asked-1" if name == "clean" or place < 5 else "other-2",
                    fingerprint="fp_1",
                )
            )
    Judge.objects.update(endpoint=endpoint)
    return built


def test_findings_count_origins_and_cut_prompts_and_the_page_warns(built: Built, admin_client: Client) -> None:
    page = admin_client.get(reverse("reporting:findings", args=[built.study.slug])).content.decode()
    assert page.count('data-warning="mixed"') == page.count('data-warning="cut"') == 1
    found = findings(built.study, rounds=10)
    clean, mixed = found["provenance"]
    origin = {"asked": "asked-1", "model": "asked-1", "fingerprint": "fp_1", "provider": "", "answers": 8}
    assert clean == {
        "judge": "clean",
        "answers": 8,
        "answered_by": [origin],
        "answered_by_others": 0,
        "mixed": False,
        "prompts": {"counted": 8, "cut": 0},
    }
    assert [(one["model"], one["answers"]) for one in mixed["answered_by"]] == [("asked-1", 5), ("other-2", 3)]
    assert (mixed["mixed"], mixed["prompts"]) == (True, {"counted": 8, "cut": 4})
    assert [one["judge"] for one in findings(built.study, rounds=10, judges=("clean",))["provenance"]] == ["clean"]
    limits = [one for one in limitations_of(found, {}) if "mixed" in one]
    assert len(limits) == 2


def test_an_answer_behind_several_judgments_counts_once(built: Built) -> None:
    first, *others = Judgment.objects.filter(run__judge__name="clean").order_by("pk")
    for one in others:
        one.completions.set(first.completions.all())
    assert findings(built.study, rounds=10)["provenance"][0]["answers"] == 1
