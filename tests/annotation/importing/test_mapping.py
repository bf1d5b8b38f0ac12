"""Mapping the columns of a file to the fields of a format."""

import json
from pathlib import Path

import pytest
from django.core.files.uploadedfile import SimpleUploadedFile
from django.core.management import call_command
from hypothesis import given
from hypothesis import strategies as st

from annotation.core.errors import BadFile, Unacceptable
from annotation.core.files.mapping import parse_mapping
from annotation.core.reasons import Reason
from annotation.core.refusals import refusal
from annotation.importing.formats.ratings_file import parse_ratings
from annotation.importing.forms import UploadForm
from annotation.importing.rating_files import import_ratings
from annotation.models import Rating, Study
from judging.importing.judgments import parse_judgments
from tests.factories import json_lines, make_study, parse_study_file, study_line

RECORD = {"idx": 3, "prompt": [{"content": "Ask."}], "answer_a": "x", "answer_b": ["y", "z"], "url": "u"}
MAPPING = ["instance_id=idx", "source=prompt.0.content", "generations.gpt-4.1=answer_a", "generations.b=answer_b"]


def reasons(data: bytes, *mapping: str) -> list[tuple[int, Reason]]:
    with pytest.raises(BadFile) as caught:
        parse_study_file(data, "f.json", mapping=parse_mapping(mapping))
    return [(line.number, line.reason) for line in caught.value.lines]


def test_fields_are_taken_from_columns_paths_and_quoted_texts() -> None:
    mapping = parse_mapping([*MAPPING, 'dataset="mine"'])
    (row,) = parse_study_file(json.dumps([RECORD]).encode(), "f.json", mapping=mapping)

    assert (row.instance_id, row.dataset, row.source) == ("3", "mine", "Ask.")
    assert row.generations == {"gpt-4.1": ["x"], "b": ["y", "z"]}
    assert row.metadata == {"url": "u", "prompt": [{"content": "Ask."}]}


def test_nan_is_a_missing_value() -> None:
    (row,) = parse_study_file(
        json.dumps({**study_line(), "score": float("nan"), "gold": float("nan")}).encode(), "f.json"
    )

    assert (row.metadata, row.gold) == ({"score": None}, None)


def test_a_csv_keeps_the_columns_that_are_not_mapped() -> None:
    data = b"id;source;one;two\n7;s;x;y\n"
    mapping = parse_mapping(["instance_id=id", "generations.a=one", "generations.b=two"])
    (row,) = parse_study_file(data, "f.csv", mapping=mapping)

    assert (row.instance_id, row.source, row.generations) == ("7", "s", {"a": ["x"], "b": ["y"]})


@given(st.lists(st.text(st.characters(codec="utf-8", exclude_characters="\0"), min_size=1), min_size=1, max_size=5))
def test_a_file_with_other_names_is_read_as_with_its_own(texts: list[str]) -> None:
    lines = [study_line(f"i{number}", source=text) for number, text in enumerate(texts)]
    renamed = [{f"x{key}": value for key, value in line.items()} for line in lines]
    mapping = {key: f"x{key}" for key in lines[0]}

    read = parse_study_file(json_lines(renamed), "f.jsonl", mapping=mapping)
    assert read == parse_study_file(json_lines(lines), "f.jsonl")


def test_columns_that_no_record_has_are_named_with_those_that_there_are() -> None:
    found = reasons(json_lines([RECORD]), *MAPPING, "dataset=set", "gold=prompt.1")

    assert found == [(1, refusal("not_mapped", columns="prompt.1, set", fields="idx, prompt, answer_a, answer_b, url"))]


@pytest.mark.parametrize(
    "mapping", [["source"], ["=x"], ["source="], ["source=a", " source = b"], ["source=a", "generations.x=a"]]
)
def test_what_is_no_mapping_is_refused(mapping: list[str]) -> None:
    with pytest.raises(Unacceptable):
        parse_mapping(mapping)


def test_ratings_and_judgments_take_a_mapping() -> None:
    mapping = parse_mapping(["rating=vote", 'rater="ann"', "system_a=x", "system_b=y", "instance_id=id"])
    rows, bad = parse_ratings(b"id,x,y,vote\n1,alpha,beta,B\n", "f.csv", mapping)
    assert ([(row.instance_id, row.rater, row.system_a, row.rating) for row in rows], bad) == (
        [("1", "ann", "alpha", 1)],
        [],
    )

    mapping = parse_mapping(["instance=id", 'judge="gpt"', "verdict=vote", 'order="ab"'])
    file = parse_judgments(b"id,vote\n1,model_b\n", "f.csv", mapping=mapping)
    assert (file.bad, [(row.place.instance, row.judge, row.verdict) for row in file.rows]) == ([], [("1", "gpt", 1)])


def test_judgments_take_numbers_as_pandas_writes_them() -> None:
    row = {"instance": 7.0, "pair": 0.0, "judge": "gpt", "order": "ab", "verdict": -1.0}
    file = parse_judgments(json_lines([row]), "f.jsonl")

    assert (file.bad, [(row.place.instance, row.place.pair, row.verdict) for row in file.rows]) == ([], [("7", 0, -1)])


@pytest.mark.django_db
@pytest.mark.slow
def test_the_mapping_is_recorded_with_the_import(tmp_path: Path) -> None:
    path = tmp_path / "f.json"
    path.write_text(json.dumps([RECORD]))
    call_command("import_study", str(path), "--study", "mapped", *(f"--map={one}" for one in MAPPING))

    study = Study.objects.get(slug="mapped")
    record = study.imports.get()
    assert record.options["mapping"] == parse_mapping(MAPPING)
    assert record.counts["added"] == 1


@pytest.mark.django_db
@pytest.mark.slow
def test_mapped_ratings_are_stored_and_the_same_file_again_adds_none() -> None:
    make_study()
    data = b"id,vote\nnews-1,model_b\n"
    mapping = parse_mapping(
        ["instance_id=id", "rating=vote", 'rater="r"', 'system_a="alpha"', 'system_b="beta"', 'pair_index="1"']
    )
    for added in (1, 0):
        assert import_ratings(data=data, name="f.csv", slug="study", mapping=mapping)[1].added == added
    assert [*Rating.objects.values_list("verdict", "display__pair__index")] == [(1, 1)]


@pytest.mark.django_db
def test_a_refusal_names_the_columns_of_the_file() -> None:
    make_study()
    data = b"id,vote,who\nnews-1,maybe,\n"
    mapping = parse_mapping(["instance_id=id", "rating=vote", "rater=who", 'system_a="alpha"', 'system_b="beta"'])
    with pytest.raises(BadFile) as caught:
        import_ratings(data=data, name="f.csv", slug="study", mapping=mapping)
    named = {(line.reason.code, line.reason.values["field"]) for line in caught.value.lines}
    assert named == {("not_one_of", "vote (rating)"), ("missing", "who (rater)")}


def test_the_form_checks_a_mapping() -> None:
    for kind, mapping, wrong in (
        ("study", "source=prompt\n\ninstance_id=id", set()),
        ("study", "source", {"mapping"}),
        ("tables", "source=prompt", {"mapping"}),
    ):
        form = UploadForm({"kind": kind, "mapping": mapping}, {"file": SimpleUploadedFile("f.json", b"[]")})
        assert set(form.errors) == wrong, mapping
