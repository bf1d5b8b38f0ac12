"""What is wrong with a file of any kind: all of it in one round, and a field that no record has in one sentence."""

from typing import Any

import pytest

from annotation.core.errors import BadFile
from annotation.models import Instance
from judging.models import Judgment
from reporting.uploads.files import import_file
from tests.factories import csv_file, json_lines, make_study

pytestmark = pytest.mark.django_db
PLACE = {"instance_id": "news-1", "pair_index": 0, "system_a": "alpha", "system_b": "beta"}
TALK = [{"role": "user", "content": "Ask."}, {"role": "assistant", "content": "x"}]
# Of each kind: a record whose fields are all needed, and a value that can't be taken.
KINDS: dict[str, tuple[dict[str, Any], dict[str, Any]]] = {
    "study": ({"instance_id": "i", "source": "s", "generations": {"a": "x", "b": "y"}}, {"dataset": 3}),
    "sources": ({"instance_id": "i", "source": "s"}, {"dataset": 3}),
    "outputs": ({"instruction": "q", "output": "x", "generator": "a"}, {"dataset": 3}),
    "labelled": ({"input": "q", "output_1": "x", "output_2": "y", "label": 1}, {"tags": 3}),
    "preferences": ({"chosen": "x", "rejected": "y"}, {"prompt": 3}),
    "ratings": ({name: value for name, value in PLACE.items() if name != "pair_index"} | {"rater": "r", "rating": -1}, {"stage": "none"}),
    "tables": ({"table_id": "t", **PLACE, "variant": "c", "rows": [{"aspect": "x", "only_a": "", "both": "", "only_b": ""}]}, {"aspects": 3}),
    "battles": ({"model_a": "a", "model_b": "b", "winner": "tie", "conversation_a": TALK, "conversation_b": TALK}, {"repeat": -1}),
    "alpacaeval": ({"instruction": "q", "output_1": "x", "output_2": "y", "generator_1": "a", "generator_2": "b"}, {"preference": 3}),
}  # fmt: skip


@pytest.mark.parametrize(
    ("kind", "lacking"), [(kind, lacking) for kind, (record, _) in KINDS.items() for lacking in record]
)
def test_a_field_that_no_record_has_is_said_once_with_all_other_problems(kind: str, lacking: str) -> None:
    make_study()
    record, wrong = KINDS[kind]
    lines = [{name: value for name, value in {**record, **more}.items() if name != lacking} for more in ({}, wrong, {})]
    with pytest.raises(BadFile) as caught:
        import_file(kind=kind, data=json_lines(lines), name="f.jsonl", slug="study", dataset="")
    absent, *others = caught.value.lines

    assert (absent.number, absent.reason.code, absent.reason.values["field"]) == (1, "in_no_record", lacking)
    consequences = ("second_output", "repeated_on")  # of records that are alike
    assert {line.number for line in others if line.reason.code not in consequences} == {2}


@pytest.mark.parametrize("lacking", ["pair_index", "system_a", "judge", "order", "status", "verdict"])
def test_judgments_as_they_are_exported_name_the_column_that_they_lack(lacking: str) -> None:
    make_study()
    row = {**PLACE, "judge": "j", "order": "ab", "status": "parsed", "verdict": "a"}
    data = json_lines([{name: value for name, value in row.items() if name != lacking}])
    with pytest.raises(BadFile) as caught:
        import_file(kind="judgments", data=data, name="f.jsonl", slug="study", dataset="")

    assert [(line.reason.code, line.reason.values) for line in caught.value.lines] == [
        ("missing_column", {"column": lacking})
    ]


def test_annotations_and_labelled_outputs_are_read_from_csv() -> None:
    texts = {"output_1": "x", "output_2": "y"}
    answers = [
        ("1", "True"),
        ("1.5", ""),
        ("2", "0"),
        ("", "false"),
    ]  # preferences, and whether the second was shown first
    rows = [
        {"instruction": f"q{number}", **texts, "generator_1": "a", "generator_2": "b", "annotator": "n"}
        | {"preference": preference, "is_switched_outputs": switched}
        for number, (preference, switched) in enumerate(answers)
    ]
    import_file(kind="auto", data=csv_file(rows), name="a.csv", slug="study", dataset="")
    judged = Judgment.objects.order_by("pk").values_list("order", "verdict", "status")
    assert list(judged) == [("ba", -1, "parsed"), ("ab", 0, "parsed"), ("ab", 1, "parsed"), ("ab", None, "unparsed")]
    wrong = csv_file([{**rows[0], "preference": "first", "is_switched_outputs": "maybe"}])
    with pytest.raises(BadFile) as caught:
        import_file(kind="alpacaeval", data=wrong, name="a.csv", slug="study", dataset="")
    assert [line.reason.values["field"] for line in caught.value.lines] == ["preference", "is_switched_outputs"]

    labelled = csv_file([{"input": "q", **texts, "label": 2}])
    import_file(kind="auto", data=labelled, name="l.csv", slug="labelled", dataset="")
    assert [one.gold for one in Instance.objects.filter(study__slug="labelled")] == [{"better": "output_2"}]
