"""Public forms of data: each is known by its fields, and its records become those of a kind that is imported."""

import json
from contextlib import suppress
from functools import partial
from pathlib import Path
from typing import Any

import pytest
from django.core.management import call_command
from hypothesis import given
from hypothesis import strategies as st

from annotation.core.errors import BadFile, BadLine
from annotation.core.files.mapping import read_mapped
from annotation.core.refusals import refusal
from annotation.importing.formats.alpacaeval import parse_outputs, read_annotation
from annotation.importing.formats.arena import read_battle
from annotation.importing.formats.comparisons import read_comparisons
from annotation.importing.formats.public_forms import recognised
from annotation.importing.formats.study_file import InstanceRow
from annotation.models import Rating, Study
from judging.importing.judgments import parse_judgments
from judging.models import Judgment
from tests.factories import json_lines, parse_study_file

PEOPLE = {"annotator1": 1, "annotator2": 2, "annotator3": 0}
PANDALM = {
    "idx": 7,
    "cmp_key": "opt-7b_llama-7b",
    "instruction": "Do.",
    "input": "it",
    "response1": "x",
    "response2": True,
    **PEOPLE,
}
JUDGEBENCH = {
    "pair_id": "p1",
    "source": "law",
    "question": "Which?",
    "response_A": "x",
    "response_B": "y",
    "label": "B>A",
}
MESSAGES = [{"role": "user", "content": "Ask."}]
QUESTION = {"question_id": 81, "category": "writing", "turns": ["Write.", "Again."]}
ANSWERS = [
    {"question_id": 81, "model_id": model, "choices": [{"index": 0, "turns": [f"{model}1", f"{model}2"]}]}
    for model in ("a/1.5", "b")
]
VERDICTS = [{"judgment": {"judge_model": "m"}, "decision": "A>B"}, {"judgment": {}, "decision": "A>B"}]
ARGILLA = {
    "id": "r1", "fields": {"prompt": "Which?", "one": "x", "two": "y"},
    "responses": {
        "better": [{"value": "two", "user_id": "u1", "status": "submitted"}, {"value": "tie", "user_id": "u2", "status": "draft"}],
        "rank": [{"value": [{"value": "one", "rank": 1}, {"value": "two", "rank": 2}], "user_id": "u3"}],
        "comment": [{"value": "Fine.", "user_id": "u1"}],
    },
}  # fmt: skip
ARENA = {
    "id": 5, "model_a": "m/1", "model_b": "n", "prompt": '["Ask.", "More?"]', "response_a": '["x", "z"]',
    "response_b": '["y", null]', "winner_model_a": "0", "winner_model_b": "0", "winner_tie": "1",
}  # fmt: skip

# Of each form: its records, and what the reader of study files makes of them: data set, source, texts of each system, gold.
INSTANCES: list[tuple[str, list[dict[str, Any]], list[tuple[Any, ...]]]] = [
    ("judgebench", [JUDGEBENCH],
     [("law", "Which?", {"response_A": ["x"], "response_B": ["y"]}, {"better": "response_B"})]),
    ("two-outputs", [{"instruction": "Do.", "output_1": "x", "output_2": ""}],
     [("default", "Do.", {"output_1": ["x"], "output_2": [""]}, None)]),
    ("mt-bench", [*ANSWERS, QUESTION],
     [("mt-bench", "Write.", {"a/1.5": ["a/1.51"], "b": ["b1"]}, None),
      ("mt-bench", "Write.", {name: [f"Assistant: {name}1\n\nUser: Again.\n\nAssistant: {name}2"] for name in ("a/1.5", "b")}, None)]),
    ("vicuna-bench", [{"question_id": 1, "text": "Ask.", "category": "generic"},
                      *({"question_id": 1, "model_id": name, "text": f"{name}!"} for name in ("a", "b"))],
     [("mt-bench", "Ask.", {"a": ["a!"], "b": ["b!"]}, None)]),
    ("rewardbench", [{"id": 3, "prompt": "Ask.", "chosen": ["x"], "rejected": "y", "chosen_model": "z-1", "rejected_model": "a-1", "subset": "chat"}],
     [("chat", "Ask.", {"a-1": ["y"], "z-1": ["x"]}, {"better": "z-1"})]),
    ("helpsteer3", [{"domain": "code", "context": MESSAGES, "response1": "x", "response2": "y", "overall_preference": -2}],
     [("code", "Ask.", {"response1": ["x"], "response2": ["y"]}, {"better": "response1"})]),
    ("helpsteer2", [{"prompt": "Ask.", "response_1": "x", "response_2": "y", "preference_strength": 0.0}],
     [("default", "Ask.", {"response_1": ["x"], "response_2": ["y"]}, {"better": "tie"})]),
    ("safe-rlhf", [{"prompt": "Ask.", "response_0": "x", "response_1": "y", "better_response_id": 1}],
     [("default", "Ask.", {"response_0": ["x"], "response_1": ["y"]}, {"better": "response_1"})]),
    ("shp", [{"domain": "ask", "history": "Post.", "human_ref_A": "x", "human_ref_B": "y", "labels": 1}],
     [("ask", "Post.", {"human_ref_A": ["x"], "human_ref_B": ["y"]}, {"better": "human_ref_A"})]),
    ("auto-j", [{"scenario": "math", "label": 2, "prompt": "1?", "response 1": "x", "response 2": "y"}],
     [("math", "1?", {"response 1": ["x"], "response 2": ["y"]}, {"better": "tie"})]),
    ("preference-collection", [{"orig_instruction": "Do.", "orig_response_A": "x", "orig_response_B": "y", "orig_preference": "A"}],
     [("default", "Do.", {"orig_response_A": ["x"], "orig_response_B": ["y"]}, {"better": "orig_response_A"})]),
    ("ultrafeedback", [{"source": "evol", "instruction": "Do.", "completions": [
        {"model": "m-1.1", "response": "x", "overall_score": 8.5}, {"model": "n", "response": "y", "overall_score": 2}]}],
     [("evol", "Do.", {"m-1.1": ["x"], "n": ["y"]}, {"scores": {"m-1.1": 8.5, "n": 2}})]),
    ("nectar", [{"prompt": "Ask.", "answers": [{"model": "m", "answer": "x", "rank": 1.0}, {"model": "n", "answer": "y", "rank": 3.0}]}],
     [("default", "Ask.", {"m": ["x"], "n": ["y"]}, {"scores": {"m": -1.0, "n": -3.0}})]),
    ("summeval", [{"id": "d1", "text": "Long.", "machine_summaries": ["x", "y"], "coherence": [1.0, 5.0], "fluency": [2.0, 5.0]}],
     [("default", "Long.", {"system-01": ["x"], "system-02": ["y"]}, {"scores": {"system-01": 1.5, "system-02": 5.0}})]),
]  # fmt: skip


@pytest.mark.parametrize(("name", "records", "rows"), [pytest.param(*case, id=case[0]) for case in INSTANCES])
def test_a_form_becomes_instances(name: str, records: list[dict[str, Any]], rows: list[tuple[Any, ...]]) -> None:
    form = recognised(json_lines(records), "f")
    parsed = parse(records)

    assert (form.name, form.kind) == (name, "study")
    assert [(row.dataset, row.source, row.generations, row.gold) for row in parsed] == rows
    assert [list(row.generations) for row in parsed] == [list(row[2]) for row in rows]  # A first


def parse(records: list[dict[str, Any]]) -> list[InstanceRow]:
    data = json_lines(records)
    return parse_study_file(data, "f", mapping=recognised(data, "f"))


def test_instances_of_the_same_texts_are_numbered_and_named_alike_each_time() -> None:
    records = [{"prompt": "Ask.", "response_0": "x", "response_1": "y", "better_response_id": n} for n in (0, 1)]
    first, second = (row.instance_id for row in parse(records))

    assert second == f"{first}-2"
    assert [row.instance_id for row in parse(records[:1])] == [first]


def test_rewardbenchs_pair_of_one_model_does_not_tell_which_is_better() -> None:
    record = {"prompt": "Ask.", "rejected": "y", "chosen_model": "m", "rejected_model": "m"}
    rows = parse([{**record, "chosen": str(number)} for number in range(40)])

    assert {row.gold["better"] for row in rows if row.gold} == {"output_1", "output_2"}


@pytest.mark.parametrize(
    ("name", "records"),
    [
        ("summeval-outputs", [{"id": "d1", "decoded": text, "model_id": f"M{text}", "text": "Long."} for text in "01"]),
        ("dialsummeval", [{"id": "d1", "dialogue": "Long.", "summary": text, "model_id": f"M{text}"} for text in "01"]),
        ("arena-hard", [
            {"uid": "d1", "model": "M0", "messages": [{"role": "user", "content": "Long."}, {"role": "assistant", "content": "0"}]},
            {"uid": "d1", "model": "M1", "messages": [{"role": "user", "content": "Long."}, {"role": "assistant", "content": {"answer": "1"}}]},
        ]),
    ],
)  # fmt: skip
def test_outputs_of_several_systems_are_joined_by_their_id(name: str, records: list[dict[str, Any]]) -> None:
    form = recognised(json_lines(records), "f")
    (row,) = parse_outputs(json_lines(records), "f", dataset="", mapping=form)

    assert (form.name, row.instance_id, row.source) == (name, "d1", "Long.")
    assert row.generations == {"M0": ["0"], "M1": ["1"]}


def comparisons(record: dict[str, Any]) -> list[tuple[Any, ...]]:
    form = recognised(json_lines([record]), "f")
    assert form.kind == "alpacaeval"
    rows = read_comparisons(json_lines([record]), "f", partial(read_annotation, dataset="d"), mapping=form)
    return [
        (row.instance_id, row.source, row.systems, row.texts, row.rater, row.by_judge, row.verdict, row.order_known)
        for row in rows
    ]


def test_pandalms_annotators_are_people_who_saw_the_texts_in_an_unknown_order() -> None:
    place = ("7", "Do.\n\nit", ("opt-7b", "llama-7b"), ("x", "true"))

    assert comparisons(PANDALM) == [
        (*place, f"annotator{number}", False, verdict, False) for number, verdict in ((1, -1), (2, 1), (3, 0))
    ]
    texts = {name: str(value) for name, value in PANDALM.items()}  # as in CSV
    assert [row[4:7] for row in comparisons(texts)] == [row[4:7] for row in comparisons(PANDALM)]


def test_judgebenchs_verdicts_are_of_both_orders() -> None:
    place = ("p1", "Which?")
    assert comparisons({**JUDGEBENCH, "judge_name": "arena_hard", "judgments": VERDICTS}) == [
        (*place, ("response_A", "response_B"), ("x", "y"), "arena_hard m", True, -1, True),
        (*place, ("response_B", "response_A"), ("y", "x"), "arena_hard", True, -1, True),
    ]


def test_argillas_submitted_choices_and_rankings_are_ratings() -> None:
    place = ("r1", "Which?", ("one", "two"), ("x", "y"))

    assert comparisons(ARGILLA) == [(*place, "u1", False, 1, False), (*place, "u3", False, -1, False)]


def test_arenas_columns_of_the_winner_are_battles() -> None:
    header = ",".join(ARENA)
    cells = ",".join('"{}"'.format(str(value).replace('"', '""')) for value in ARENA.values())
    data = f"{header}\n{cells}\n".encode()
    (row,) = read_comparisons(data, "f.csv", partial(read_battle, dataset="d"), mapping=recognised(data, "f.csv"))

    assert (row.instance_id, row.source, row.systems, row.verdict) == ("5", "Ask.", ("m/1", "n"), 0)
    assert row.texts == ("Assistant: x\n\nUser: More?\n\nAssistant: z", "Assistant: y\n\nUser: More?\n\nAssistant: ")


def test_judgments_of_mt_bench_and_of_pandalm() -> None:
    pair = {"question_id": 81, "model_1": "a", "model_2": "b", "judge": ["gpt-4", "pair-v2"], "turn": 2}
    mt_bench = json_lines([{**pair, "g1_winner": "model_2", "g2_winner": "error", "g1_judgment": "Hm."}])
    rows = parse_judgments(mt_bench, "f", mapping=recognised(mt_bench, "f")).rows
    assert [(row.place.instance, row.judge, row.order, row.verdict, row.rationale) for row in rows] == [
        ("81-turn-2", "gpt-4 pair-v2", "ab", 1, "Hm."),
        ("81-turn-2", "gpt-4 pair-v2", "ba", None, ""),
    ]
    panda = json_lines([{"idx": 7, "pandalm_result": 2}, {"idx": 8, "pandalm_result": "garbage"}])
    rows = parse_judgments(panda, "f", mapping=recognised(panda, "f")).rows
    assert [(row.place.instance, row.judge, row.verdict) for row in rows] == [
        ("7", "pandalm", 1),
        ("8", "pandalm", None),
    ]


@pytest.mark.parametrize(
    ("record", "reason"),
    [
        ({**PANDALM, "annotator2": 3}, refusal("not_one_of", field="annotator2", value="3", words="1, 2 or 0, a tie")),
        ({**PANDALM, "cmp_key": "x"}, refusal("not_kind", field="cmp_key", value="'x'", kind="SYSTEM_SYSTEM")),
        ({**JUDGEBENCH, "label": ["A"]}, refusal("not_one_of", field="label", value="['A']", words="A>B, B>A, A=B, A, B")),
        (ANSWERS[0], refusal("no_question", question="81")),
        ({"prompt": "Ask.", "answers": ["x"]}, refusal("not_objects", field="answers")),
        ({"prompt": "Ask.", "answers": [{"model": "m", "answer": "x"}, {"answer": "y"}]}, refusal("missing", field="model")),
    ],
    ids=["annotator", "systems", "label", "question", "completions", "model"],
)  # fmt: skip
def test_a_record_that_does_not_fit_its_form_is_refused(record: dict[str, Any], reason: Any) -> None:
    data = json_lines([record])
    records, bad = read_mapped(data, recognised(data, "f"))

    assert (list(records), bad) == ([], [BadLine(1, reason)])


def test_bad_records_and_contradictions_of_others_are_listed_together() -> None:
    file = json_lines([PANDALM, {**PANDALM, "annotator1": 7}, {**PANDALM, "response1": "z"}, {**PANDALM, "idx": 8}])
    with pytest.raises(BadFile) as caught:
        read_comparisons(file, "f", partial(read_annotation, dataset="d"), mapping=recognised(file, "f"))

    codes = [(line.number, line.reason.code) for line in caught.value.lines]
    assert codes == [(2, "not_one_of"), (3, "other_text_before")]


def test_a_file_of_no_known_form_is_refused_with_its_fields() -> None:
    with pytest.raises(BadFile) as caught:
        recognised(json_lines([{"question": "?", "answer": "!"}]), "f")

    assert [line.reason.code for line in caught.value.lines] == ["unknown_form"]
    assert caught.value.lines[0].reason.values["fields"] == "question, answer"


JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=5),
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.dictionaries(st.sampled_from(["role", "content", "turns", "model", "value"]), inner)
    ),
    max_leaves=8,
)


RECORDS = [record for _, records, _ in INSTANCES for record in records] + [
    *(PANDALM, ARGILLA, ARENA, {**JUDGEBENCH, "judge_name": "j", "judgments": VERDICTS}),
    {"question_id": 81, "model_1": "a", "model_2": "b", "judge": ["gpt-4"], "turn": 2, "g1_winner": "tie", "g2_winner": "tie"},
]  # fmt: skip


@given(st.sampled_from(RECORDS), st.data())
def test_any_value_in_a_field_of_a_form_is_read_or_refused(record: dict[str, Any], data: st.DataObject) -> None:
    changed = {**record, data.draw(st.sampled_from(list(record))): data.draw(JSON)}
    file = json_lines([changed, record])
    form = recognised(file, "f")
    records, bad = read_mapped(file, form)
    assert all(isinstance(record, dict) for _, record in records)
    assert all(line.reason.text for line in bad)
    read = {
        "alpacaeval": lambda: read_comparisons(file, "f", partial(read_annotation, dataset="d"), mapping=form),
        "battles": lambda: read_comparisons(file, "f", partial(read_battle, dataset="d"), mapping=form),
        "study": lambda: parse_study_file(file, "f", mapping=form),
        "outputs": lambda: parse_outputs(file, "f", dataset="d", mapping=form),
        "judgments": lambda: parse_judgments(file, "f", mapping=form),
    }[form.kind]
    with suppress(BadFile):
        read()


@pytest.mark.django_db
def test_the_command_imports_pandalms_test_set_and_its_judges(tmp_path: Path) -> None:
    verdicts = [{"idx": 7, "pandalm_result": 1, "pandalm_reason": "Short."}]
    for name, records in (("t.json", [PANDALM]), ("v.json", verdicts)):
        (tmp_path / name).write_text(json.dumps(records))
        call_command("import_file", str(tmp_path / name), "--study", "panda")

    ratings = Rating.objects.order_by("pk").values_list("verdict", "display__a_is_left")
    assert list(ratings) == [(-1, None), (1, None), (0, None)]
    assert Judgment.objects.get().rationale == "Short."
    study = Study.objects.get(slug="panda")
    assert [record.options.get("form") for record in study.imports.order_by("pk")] == ["pandalm", "pandalm-7b"]
