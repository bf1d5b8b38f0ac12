"""Statistics of data sets: by command, on the page, as an export."""

import json

import pytest
from django.test import Client

from annotation.importing.formats.study_file import InstanceRow
from annotation.models import Instance, Study
from annotation.studies.data_sets import COLUMNS, data_sets
from reporting.exports.files import export_lines
from reporting.study_pages import views
from tests.factories import add_instances, make_study, make_user, output_of

pytestmark = [pytest.mark.django_db, pytest.mark.slow]


def store() -> Study:
    study = make_study(instances=0)
    rows = [
        InstanceRow(1, "n1", "news", "one two three", {"alpha": ["a b", "a"], "beta": ["a b c", "a b c d"]}),
        InstanceRow(2, "n2", "news", "", {"alpha": ["a b"], "beta": ["a b"]}),
        InstanceRow(3, "t1", "tea", "one <b>two</b>", {"gamma": ["a b c d e f"], "beta": ["a"]}),
    ]
    add_instances(study, rows)
    Instance.objects.filter(instance_id="n2").update(gold={"better": "alpha"})
    return study


def test_figures_by_hand(study: Study) -> None:
    news, tea, every = data_sets(study)
    assert list(news.as_row()) == list(COLUMNS)
    assert (news.name, news.instances, news.gold, news.systems, news.generations) == ("news", 2, 1, 2, 6)
    # Two pairs of the first instance (each system's first texts, and the second ones), one of the second.
    assert (news.pairs, tea.pairs, every.pairs) == (3, 1, 4)
    assert (news.sources.n, news.sources.mean) == (1, 3.0)  # the other instance has no source
    assert (news.texts.n, news.texts.mean, news.texts.shortest, news.texts.longest) == (6, 14 / 6, 1, 4)
    assert (tea.name, tea.texts.mean, tea.texts.median) == ("tea", 3.5, 3.5)
    assert (every.name, every.instances, every.systems, every.texts.n) == (None, 3, 3, 8)
    assert every.texts.mean == 21 / 8  # of all texts: not the mean of 14/6 and 3.5
    assert [one.texts.n for one in data_sets(study, sample_size=1)] == [1, 1, 2]
    assert data_sets(make_study("other", instances=0)) == []


def test_command_page_and_export_have_the_same_figures(
    study: Study, client: Client, monkeypatch: pytest.MonkeyPatch
) -> None:
    told = json.loads(output_of("data_sets", study.slug, "--format", "json"))["data_sets"]
    exported = [json.loads(line) for line in export_lines(study, "datasets", "jsonl")]
    assert exported == told[:2]
    assert told[2]["dataset"] is None
    text = output_of("data_sets", study.slug)
    assert ["instances", "2", "1", "3"] in [line.split() for line in text.splitlines()]
    client.force_login(make_user("rea", "researcher", study=study))
    monkeypatch.setattr(views, "COUNTED_TEXTS", 400)
    page = client.get(f"/studies/{study.slug}/instances/").text
    assert "2.3 <small>median 2, 1 to 4, n = 6</small>" in page
    assert "At most 400 sources and texts" in page
