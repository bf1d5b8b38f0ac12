"""Copying a study: its settings and, if asked for, its instances, never its answers."""

import json
from typing import Any

import pytest
from django.core.management import CommandError, call_command
from django.db.models import Count

from annotation.importing import forms
from annotation.importing.new_studies import copy_study, settings_of
from annotation.models import (
    Annotator,
    Assignment,
    Batch,
    ComparisonTable,
    Generation,
    Hit,
    Matchup,
    Pair,
    Rating,
    ResearchGroup,
    RoleGrant,
    Study,
)
from annotation.models.members import main_group
from annotation.studies.presets import recorded_selection
from tests.factories import add_instances, claim, make_annotator, make_batch, make_study, make_user, rate, signed_in

pytestmark = [pytest.mark.django_db, pytest.mark.engine, pytest.mark.slow]

COPY = "/studies/study/copy/"


def store_study() -> Study:
    """Make a study that is under way: settings of its own, two data sets, tables, a batch, votes."""
    study = make_study(
        instances=2, systems=("zeta", "alpha"), question="Which is clearer?", consent_version=3, ties_allowed=False,
        pairs_per_hit=2, most_hits_per_rater=9, pay_per_hit="0.50", currency="EUR", arms=["table:c8"], title="First",
    )  # fmt: skip
    add_instances(study, instances=1, dataset="talk", systems=("beta", "zeta"), k=3)
    study.instances.filter(dataset="talk").update(gold={"better": "beta"}, metadata={"note": ["x"]})
    study.systems.filter(name="zeta").update(family="z")
    for pair in Pair.objects.all():
        ComparisonTable.objects.create(
            study=study, table_id=f"t{pair.pk}", pair=pair, variant="c8", rows=[{"aspect": str(pair)}], made_by={"m": 1}
        )
    make_batch(study, systems=("zeta", "alpha"))
    rate(claim(make_annotator(study)))
    return study


def store() -> Study:
    return store_study()


def copied(source: Study, **settings: Any) -> Study:
    return copy_study(**{"study": source, "slug": "copy", "group": main_group(), **settings})


def texts(study: Study) -> list[tuple[Any, ...]]:
    """Everything that is compared, without the rows' own numbers."""
    instances = study.instances.values_list("instance_id", "dataset", "source", "gold", "metadata", "position")
    generations = Generation.objects.filter(instance__study=study)
    matchups = Matchup.objects.filter(instance__study=study)
    pairs = Pair.objects.filter(matchup__instance__study=study)
    tables = ComparisonTable.objects.filter(study=study)
    names = ("pair__matchup__instance__instance_id", "pair__matchup__system_a__name", "pair__index")
    rows = [
        *study.systems.values_list("name", "family", "position"),
        *instances,
        *generations.values_list("instance__instance_id", "system__name", "index", "text"),
        *matchups.values_list("instance__instance_id", "system_a__name", "system_b__name"),
        *pairs.values_list("matchup__instance__instance_id", "index", "generation_a__text", "generation_b__text"),
        *tables.values_list("table_id", "variant", "rows", "made_by", "aspects", *names),
    ]
    return sorted(rows, key=repr)


def test_a_copy_has_the_settings_and_nothing_else(study: Study) -> None:
    copy = copied(study)

    study.refresh_from_db()
    assert settings_of(Study.objects.get(slug="copy")) == settings_of(study)
    assert (copy.title, copy.consent_version, copy.archived_at) == ("First", 1, None)
    assert copy.seed != study.seed
    assert copy.key != study.key
    assert copy.instances.count() == copy.systems.count() == copy.batches.count() == 0
    assert copied(study, slug="named", title="Second").title == "Second"


def test_a_copy_with_instances_has_the_same_texts_and_no_answer(study: Study, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("annotation.importing.new_studies._CHUNK", 2)  # of three instances
    before = [model._base_manager.count() for model in (Batch, Hit, Annotator, Assignment, Rating)]

    copy = copied(study, with_instances=True)

    assert texts(copy) == texts(study)
    assert len(texts(copy)) > 30
    assert [model._base_manager.count() for model in (Batch, Hit, Annotator, Assignment, Rating)] == before
    assert not copy.events.exists()
    again = copy_study(study=copy, slug="again", group=main_group(), with_instances=True)
    assert texts(again) == texts(study)


@pytest.mark.any_engine
def test_a_copy_knows_what_it_was_begun_from_and_how_its_batches_choose(study: Study) -> None:
    study.imports.create(kind="template", file_name="pilot", sha256="0" * 64, options={"select": "random:10"})
    copy = copied(study)

    record = copy.imports.get()
    assert (record.kind, record.file_name, record.options["with_instances"]) == ("copy", "study", False)
    assert recorded_selection(copy) == "random:10"
    assert recorded_selection(copied(copy, slug="next")) == "random:10"


@pytest.mark.any_engine
def test_the_page_copies_for_every_reader_into_their_own_group(study: Study) -> None:
    own = ResearchGroup.objects.create(slug="own", name="Own")
    reader = make_user("reader", "researcher", study=study)
    RoleGrant.objects.create(user=reader, role="researcher", group=own)
    client = signed_in(reader)
    assert client.get(COPY).status_code == 200

    response = client.post(COPY, {"slug": "copy", "with_instances": "on"}, follow=True)

    assert response.redirect_chain == [("/studies/copy/", 302)]
    copy = Study.objects.get(slug="copy")
    assert (copy.group, copy.instances.count()) == (own, 3)
    assert client.get("/studies/copy/settings/").status_code == 200
    assert "study study" in " ".join(response.text.split())


@pytest.mark.any_engine
def test_a_copy_stays_in_its_group_where_the_user_may_make_studies_in_it(study: Study) -> None:
    later = ResearchGroup.objects.create(slug="later", name="Later")
    Study.objects.filter(pk=study.pk).update(group=later)
    user = make_user("reader", "researcher")
    RoleGrant.objects.create(user=user, role="researcher", group=later)

    assert signed_in(user).post(COPY, {"slug": "copy"}).status_code == 302

    assert Study.objects.get(slug="copy").group == later


@pytest.mark.parametrize(
    "sent",
    [{"slug": "study"}, {"slug": ""}, {"slug": "copy", "group": "nope"}, {"slug": "copy", "with_instances": "on"}],
    ids=str,
)
@pytest.mark.any_engine
def test_a_copy_that_fails_says_why(study: Study, sent: dict[str, str], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(forms, "MOST_COPIED", 2)
    response = signed_in(make_user("reader", "researcher")).post(COPY, sent)

    assert response.status_code == 422
    assert Study.objects.count() == 1


@pytest.mark.any_engine
def test_a_copy_from_a_shell(study: Study, capsys: pytest.CaptureFixture[str]) -> None:
    own = ResearchGroup.objects.create(slug="own", name="Own")
    Study.objects.filter(pk=study.pk).update(group=own)

    call_command("copy_study", "study", "--to", "copy", "--with-instances")
    assert capsys.readouterr().out == "study copy created with the settings of study, 3 instances\n"
    call_command("copy_study", "study", "--to", "bare", "--group", "main", "--title", "Bare", "--format", "json")
    assert json.loads(capsys.readouterr().out) == {"study": "bare", "of": "study", "group": "main", "instances": 0}
    assert Study.objects.get(slug="copy").group == own
    with pytest.raises(CommandError, match="is taken"):
        call_command("copy_study", "study", "--to", "copy")


def test_a_copy_of_each_text_compares_all_of_an_instances_texts(study: Study) -> None:
    most = max(study.instances.annotate(n=Count("generations")).values_list("n", flat=True))
    copy = copied(study, each_text=True)
    for instance in copy.instances.all():
        original = study.instances.get(instance_id=instance.instance_id)
        names = {f"{one.system.name}/{one.index + 1}": one.text for one in original.generations.all()}
        assert {one.system.name: one.text for one in instance.generations.all()} == names
        pairs = Pair.objects.filter(matchup__instance=instance)
        assert pairs.count() == len(names) * (len(names) - 1) // 2
        assert not pairs.filter(index__gt=0).exists()
        assert instance.gold is None
    assert copy.systems.count() >= most
    assert copy.systems.first().family == study.systems.first().family  # type: ignore[union-attr]
    assert not copy.tables.exists()
