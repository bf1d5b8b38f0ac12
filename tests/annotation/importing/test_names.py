"""Names and codes of files: trimmed, and refused where they differ by case or blanks only."""

from typing import Any

import pytest

from annotation.core.errors import AnnotationError, BadFile
from annotation.core.names import addresses, fold, lookalikes, trim
from annotation.importing.comparisons import import_votes
from annotation.importing.rating_files import import_ratings
from annotation.importing.study_files import import_study
from annotation.importing.tables import import_tables
from annotation.members.groups import create_group
from annotation.models import Annotator, Instance, Rating, Study, System
from annotation.studies.services import ensure_study
from tests.annotation.importing.test_comparison_tables import table
from tests.annotation.importing.test_rating_files import line
from tests.factories import csv_file, json_lines, make_study, study_line

BLANKS = (" ", "\t", "\u00a0", "\u2003", "\u3000", "\u200b", "\ufeff", "\u2060", "\u200e")


def row(**changes: Any) -> dict[str, Any]:
    return line(**{"rater": "bob", **changes})


def load(*rows: dict[str, Any]) -> None:
    import_ratings(data=csv_file([*rows]), name="f.csv", slug="study")


def reasons(error: pytest.ExceptionInfo[BadFile]) -> list[str]:
    return [str(line) for line in error.value.lines]


@pytest.mark.parametrize("blank", BLANKS, ids=ascii)
def test_blanks_around_a_name_are_trimmed_and_none_within_make_it_another(blank: str) -> None:
    assert trim(f"{blank}Ann B{blank}") == "Ann B"
    assert fold(f"A{blank}nn") == fold("ann")
    assert lookalikes([f"bo{blank}b"], ["bob"]) == {f"bo{blank}b": "bob"}


def test_other_names_and_existing_lookalikes_are_left_alone() -> None:
    assert lookalikes(["bob", "rob", "bob"], ["bib"]) == {}
    assert lookalikes(["bob", "Bob"], ["bob", "Bob"]) == {}
    assert lookalikes(["STRASSE", "straße", "Straße"]) == {"straße": "STRASSE", "Straße": "STRASSE"}


def test_addresses_are_told_from_codes() -> None:
    codes = ["ann@example.org", "r1", "w1@news: alpha / beta", "a@b", "@x.org", "x@y.z", "ann@example.org", "é@uni.at"]
    assert addresses(codes) == ["ann@example.org", "é@uni.at"]


@pytest.mark.slow
@pytest.mark.django_db
@pytest.mark.parametrize("blank", BLANKS, ids=ascii)
def test_a_rater_with_blanks_around_the_code_is_the_same_person(blank: str) -> None:
    make_study()

    load(row(), row(pair_index=1, rater=f"{blank}bob{blank}", instance_id=f"news-1{blank}", system_a=f"alpha{blank}"))

    assert [*Annotator.objects.values_list("code", flat=True)] == ["bob"]
    assert Rating.objects.count() == 2


@pytest.mark.django_db
def test_every_lookalike_of_a_file_and_a_study_is_listed_with_the_other_problems() -> None:
    make_study()
    load(row(rater="Ann"))

    with pytest.raises(BadFile) as error:
        load(
            *(row(rater="ann"), row(rater="bob", rating=7), row(rater="cem"), row(rater="CEM", pair_index=1)),
            *(row(rater="c em", instance_id="news-2"), row(rater="dan", instance_id="none")),
        )

    assert [line.split(" differs")[0] for line in reasons(error)] == [
        "line 2: rater 'ann'",
        "line 3: rating is '7'; it must be -1, 0, 1, left or right",
        "line 5: rater 'CEM'",
        "line 6: rater 'c em'",
        "line 7: no alpha / beta on instance 'none'",
    ]
    assert Rating.objects.count() == 1


@pytest.mark.django_db
def test_systems_and_instances_are_trimmed_in_study_files() -> None:
    line = study_line(
        instance_id=" i1\u200b", dataset="\u00a0news ", generations={"alpha ": ["x"], "\ufeffbeta": ["y"]},
        gold={"better": "alpha "},
    )  # fmt: skip

    import_study(data=json_lines([line]), name="f.jsonl", slug="study")

    assert [*System.objects.values_list("name", flat=True)] == ["alpha", "beta"]
    assert [*Instance.objects.values_list("instance_id", "dataset")] == [("i1", "news")]
    assert Instance.objects.get().gold == {"better": "alpha"}


@pytest.mark.django_db
def test_systems_that_differ_by_case_or_blanks_are_refused_in_one_list() -> None:
    make_study(systems=("GPT-4", "other"), dataset="news")
    lines = [
        study_line(instance_id="a", dataset="News", generations={"gpt-4": ["x"], "new": ["y"]}),
        study_line(instance_id="b", dataset="news", generations={"gpt -4": ["x"], "third": ["y"]}),
    ]
    within_one = study_line(generations={"gpt-4": ["x"], " gpt-4 ": ["y"], "GPT-4": ["z"]})

    for slug, records, problems in (
        ("study", lines[:1], ["line 1: system 'gpt-4'", "line 1: data set 'News'"]),
        ("another", lines, ["line 2: system 'gpt -4'", "line 2: data set 'news'"]),
        ("another", [within_one], ["line 1: system ' gpt-4 '", "line 1: system 'GPT-4'"]),
    ):
        with pytest.raises(BadFile) as error:
            import_study(data=json_lines(records), name="f.jsonl", slug=slug)
        assert [line.partition(" differs")[0] for line in reasons(error)] == problems
    assert System.objects.count() == 2
    assert not Study.objects.filter(slug="another").exists()


@pytest.mark.django_db
def test_votes_and_tables_are_trimmed() -> None:
    votes = [
        {"id": f"{n}\u200b", "prompt": " p ", "left": "alpha\u00a0", "right": "beta", "worker": worker, "winner": "tie"}
        for n, worker in enumerate(["ann", "\u200bann "])
    ]
    texts = [{"id": str(n), "text": "s", "left": "x", "right": "y"} for n in range(2)]
    files = {"data": json_lines(votes), "name": "v.jsonl", "texts": json_lines(texts), "texts_name": "t.jsonl"}
    with pytest.raises(BadFile, match="rater ann rated this pair"):
        import_votes(**files, slug="v", dataset="d ")
    make_study()
    record = table(table_id="t1 ", instance_id=" news-1", system_a="alpha\u200b")
    assert import_tables(data=json_lines([record]), name="t.jsonl", slug="study")[1:] == (1, 0)


@pytest.mark.django_db
def test_short_names_that_differ_by_case_only_are_refused() -> None:
    make_study("alpaca")
    create_group(slug="lab")

    for make in (lambda: ensure_study(slug="Alpaca"), lambda: create_group(slug="LAB")):
        with pytest.raises(AnnotationError, match="by case only"):
            make()
    assert ensure_study(slug="alpaca").pk == Study.objects.get().pk


@pytest.mark.django_db
def test_codes_that_look_like_addresses_are_noticed() -> None:
    make_study()
    data = csv_file([row(rater="ann@example.org"), row(rater="bob", pair_index=1)])
    [notice] = import_ratings(data=data, name="f.csv", slug="study")[1].notices
    assert "ann@example.org" in str(notice)
    assert "bob" not in str(notice)
