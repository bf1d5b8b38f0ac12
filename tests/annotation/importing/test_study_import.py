"""Study files on their way into the database: whole or not at all, and nothing new the second time."""

import json
from typing import Any

import pytest

from annotation.core.errors import AnnotationError, BadFile
from annotation.core.reasons import reason
from annotation.importing import content
from annotation.importing.content import StoredInstances, store_instances
from annotation.importing.formats import study_file
from annotation.importing.formats.study_file import InstanceRow
from annotation.importing.study_files import import_study, summary
from annotation.models import Generation, ImportRecord, Instance, Matchup, Pair, Study, System
from tests.factories import json_lines, make_study, study_line

pytestmark = [pytest.mark.django_db, pytest.mark.engine]


def load(
    *records: dict[str, Any], slug: str = "s", name: str = "f.jsonl", **settings: Any
) -> tuple[Study, StoredInstances]:
    return import_study(data=json_lines(records), name=name, slug=slug, **settings)


def everything() -> list[int]:
    return [model._base_manager.count() for model in (Study, System, Instance, Generation, Matchup, Pair, ImportRecord)]


def test_a_file_becomes_instances_matchups_and_pairs_in_the_order_of_the_file() -> None:
    study, stored = load(
        study_line("b", generations={"zeta": ["z0", "z1"], "alpha": ["a0", "a1"]}),
        study_line("a", generations={"alpha": ["a2", "a3"], "zeta": ["z2", "z3"]}, dataset="own"),
        dataset="given",
    )

    assert stored.counts == {"added": 2, "extended": 0, "unchanged": 0}
    instances = study.instances.values_list("instance_id", "dataset", "position")
    assert list(instances) == [("b", "given", 0), ("a", "own", 1)]
    assert list(study.systems.values_list("name", flat=True)) == ["zeta", "alpha"]  # first seen is A
    pairs = Pair.objects.order_by("matchup__instance__position", "index")
    assert list(pairs.values_list("index", "generation_a__text", "generation_b__text")) == [
        (0, "z0", "a0"),
        (1, "z1", "a1"),
        (0, "z2", "a2"),
        (1, "z3", "a3"),
    ]


def test_unequal_counts_make_as_many_pairs_as_the_smaller_and_lose_no_text() -> None:
    load(study_line("i", generations={"alpha": ["1", "2", "3"], "beta": ["4", "5"]}))

    assert list(Pair.objects.values_list("generation_a__text", "generation_b__text")) == [("1", "4"), ("2", "5")]
    assert Generation.objects.count() == 5


def test_an_instance_takes_no_more_systems_than_its_export_may_hold(monkeypatch: pytest.MonkeyPatch) -> None:
    for module in (content, study_file):
        monkeypatch.setattr(module, "MOST_SYSTEMS", 3)
        monkeypatch.setattr(module, "MOST_TEXTS", 2)
    study, _ = load(study_line("i", generations={"a": ["1"], "b": ["2"]}))
    load(study_line("i", generations={"b": ["2"], "c": ["3"]}))
    with pytest.raises(BadFile, match="generations of 4 systems; at most 3"):
        load(study_line("i", generations={"a": ["1"], "d": ["4"]}))
    many = InstanceRow(1, "j", "d", "Source.", {"a": ["1", "2", "3"], "b": ["1"]})
    with pytest.raises(BadFile, match="has 3 texts; at most 2"):
        store_instances(study=study, rows=[many], name="other form")
    assert Generation.objects.count() == 3


def test_the_same_file_again_changes_nothing_and_says_so() -> None:
    records = [
        study_line("a", metadata={"n": 1e23, "x": [0.1, 10**20]}, gold={"scores": {"alpha": 1e30}}),
        study_line("b"),
    ]
    load(*records)
    before = everything()

    study, stored = load(*records)

    assert stored.counts == {"added": 0, "extended": 0, "unchanged": 2}
    assert everything() == before
    said = summary("f.jsonl", study, stored)
    assert said == reason("nothing_new_of", name="f.jsonl", contents=reason("instances", number=2), study="s")
    assert said.text == "f.jsonl: nothing new; 2 instances already imported (study s)"


def test_a_longer_file_adds_what_is_new_in_it() -> None:
    load(study_line("a"))

    study, stored = load(study_line("a"), study_line("b", source="Another."))

    assert stored.counts == {"added": 1, "extended": 0, "unchanged": 1}
    assert list(study.instances.values_list("instance_id", "position")) == [("a", 0), ("b", 1)]
    said = summary("f", study, stored)
    contents = [reason("added", contents=reason("instances", number=1)), reason("already_imported", number=1)]
    assert said == reason("imported_into", name="f", contents=contents, study="s")
    assert said.text == "f: 1 instance added, 1 already imported (study s)"


def test_a_further_system_is_added_to_instances_that_are_there() -> None:
    load(study_line("a"))

    study, stored = load(study_line("a", generations={"gamma": ["three"], "alpha": ["one"]}))

    assert stored.counts == {"added": 0, "extended": 1, "unchanged": 0}
    assert list(study.systems.values_list("name", "position")) == [("alpha", 0), ("beta", 1), ("gamma", 2)]
    assert list(Matchup.objects.values_list("system_a__name", "system_b__name")) == [
        ("alpha", "beta"),
        ("alpha", "gamma"),
        ("beta", "gamma"),
    ]
    assert Pair.objects.count() == 3


def test_a_system_after_one_that_was_taken_out_gets_a_place_of_its_own() -> None:
    study = make_study(systems=("alpha", "beta", "gamma"), instances=0)
    System.objects.bulk_create(System(study=study, name=name, position=place) for place, name in ((0, "a"), (2, "c")))

    load(study_line("x", generations={"a": ["1"], "new": ["2"]}), slug=study.slug)

    assert list(study.systems.values_list("name", "position")) == [("a", 0), ("c", 2), ("new", 3)]


@pytest.mark.any_engine
@pytest.mark.parametrize(
    ("change", "named"),
    [
        ({"source": "Another."}, "source"),
        ({"dataset": "another"}, "dataset"),
        ({"gold": {"better": "tie"}}, "gold"),
        ({"metadata": {"k": 1}}, "metadata"),
        ({"generations": {"alpha": ["one"], "beta": ["another"]}}, "the generations of beta"),
        ({"generations": {"alpha": ["one", "more"], "beta": ["two"]}}, "the generations of alpha"),
    ],
    ids=lambda value: value if isinstance(value, str) else "",
)
def test_a_line_that_contradicts_what_is_stored_is_refused_with_the_rest(change: dict[str, Any], named: str) -> None:
    load(study_line("a"))
    before = everything()

    with pytest.raises(BadFile) as caught:
        load(study_line("new"), study_line("a", **change))

    assert [(line.number, str(line).partition("with other ")[2]) for line in caught.value.lines] == [(2, named)]
    assert everything() == before


def test_an_existing_study_keeps_its_settings() -> None:
    load(study_line("a"), title="First title", question="Which?")
    study, _ = load(study_line("b"), title="Second title")

    assert (study.title, study.question) == ("First title", "Which?")


@pytest.mark.any_engine
def test_a_setting_that_is_not_valid_stops_the_import_with_its_name() -> None:
    with pytest.raises(AnnotationError, match="slug: "):
        load(study_line("a"), slug="not a slug")
    with pytest.raises(AnnotationError, match="task_kind: "):
        load(study_line("a"), task_kind="poetry")

    assert everything() == [0] * 7


def test_what_was_read_is_on_record_with_its_hash_only_when_it_changed_something() -> None:
    load(study_line("a"), name="x" * 300 + ".jsonl")
    load(study_line("a"))

    record = ImportRecord.objects.get()
    assert (record.kind, record.counts["added"], len(record.file_name), len(record.sha256)) == ("study", 1, 255, 64)


def test_a_data_set_given_apart_from_the_file_must_fit_too() -> None:
    with pytest.raises(BadFile, match="the data set is 101 characters long; at most 100"):
        load(study_line("a"), dataset="x" * 101)
    with pytest.raises(BadFile, match="the data set is empty"):
        load(study_line("a"), dataset="")


def test_the_order_that_a_file_first_asks_for_holds_for_the_whole_study() -> None:
    study = make_study(instances=0)
    first = InstanceRow(1, "i", "d", "s", {"a": ["1"], "b": ["2"], "c": ["3"]}, matchups=(("b", "a"),))
    later = InstanceRow(1, "i", "d", "s", {"a": ["1"], "c": ["3"]}, matchups=(("c", "a"),))

    store_instances(study=study, rows=[first], name="f")
    stored = store_instances(study=study, rows=[later], name="f")
    again = store_instances(study=study, rows=[later, first], name="f")

    assert stored.counts == {"added": 0, "extended": 0, "unchanged": 1}
    assert again.counts == {"added": 0, "extended": 0, "unchanged": 2}
    assert sorted(Matchup.objects.values_list("system_a__name", "system_b__name")) == [("b", "a"), ("c", "a")]
    assert Pair.objects.count() == 2
    load(study_line("j", generations={"a": ["1"], "b": ["2"]}), slug=study.slug)
    assert Matchup.objects.filter(system_a__name="b", system_b__name="a").count() == 2


@pytest.mark.slow
def test_importing_many_instances_takes_far_fewer_queries_than_instances(django_assert_max_num_queries: Any) -> None:
    records = [study_line(f"i{number}") for number in range(400)]
    data = json_lines(records)

    with django_assert_max_num_queries(60):
        import_study(data=data, name="f", slug="s")

    assert Pair.objects.count() == 400
    assert json.loads(data.splitlines()[0]) == records[0]
