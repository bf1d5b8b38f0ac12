"""Files of AlpacaEval, Chatbot Arena and Label Studio as these write them; what is wrong with one is said line by line."""

import json
from pathlib import Path
from typing import Any

import pytest
from django.core.files.uploadedfile import SimpleUploadedFile
from django.core.management import CommandError, call_command
from rest_framework.test import APIClient

from annotation.core.errors import BadLine
from annotation.core.reasons import reason
from annotation.core.refusals import refusal, restored
from annotation.models import Generation, Pair, Rating, Study, Upload
from annotation.models.members import Role
from judging.models import Judgment
from reporting.uploads.jobs import take_in
from tests.factories import make_study, make_user, token_of

pytestmark = [pytest.mark.django_db, pytest.mark.engine]


def annotation(**changes: Any) -> dict[str, Any]:
    return {
        "instruction": "Name a colour.",
        "output_1": "Red.",
        "generator_1": "reference",
        "output_2": "Blue, which is calm.",
        "generator_2": "candidate",
        "dataset": "helpful_base",
        "annotator": "weighted_alpaca_eval_gpt4_turbo",
        "preference": 1.25,
        "raw_completion": None,
        **changes,
    }


def battle(**changes: Any) -> dict[str, Any]:
    said = [{"role": "user", "content": "Hello?"}, {"role": "assistant", "content": "Hi."}]
    return {
        "question_id": "58210e39b3fd4441a2bd4a518bb44c2d",
        "model_a": "vicuna-13b",
        "model_b": "koala-13b",
        "winner": "model_b",
        "judge": "arena_user_965",
        "conversation_a": said,
        "conversation_b": [said[0], {"role": "assistant", "content": "Good day."}],
        "turn": 1,
        "anony": True,
        "language": "English",
        "tstamp": 1682351591.1322,
        **changes,
    }


def region(**value: Any) -> list[dict[str, Any]]:
    kind = "pairwise" if "selected" in value else "choices"
    return [{"id": "x", "from_name": "pw", "to_name": "text1,text2", "type": kind, "value": value}]


def task(*answers: dict[str, Any], **changes: Any) -> dict[str, Any]:
    data = {"prompt": "Which?", "text1": "One.", "text2": "Two."}
    made = [{"id": n, "completed_by": n, "was_cancelled": False, **one} for n, one in enumerate(answers, start=1)]
    return {"id": 1, "data": data, "annotations": made, **changes}


def run(command: str, path: Path, records: Any, *more: str) -> None:
    path.write_text(json.dumps(records, indent=1), encoding="utf-8")
    call_command(command, str(path), "--study", "made", *more)


@pytest.mark.slow
def test_alpacaevals_annotations_are_judgments_in_study_order(tmp_path: Path) -> None:
    records = [
        annotation(),
        annotation(preference=None, annotator="other"),
        annotation(preference=0, annotator="third", is_switched_outputs=True),
        annotation(instruction="Count.", input="to two", output_1="1 2", output_2="12", preference=2),
    ]
    run("import_alpacaeval", tmp_path / "a.json", records)
    found = {
        (one.run.judge.name, one.pair.matchup.instance.dataset): (one.status, one.verdict, one.p_b, one.order)
        for one in Judgment.objects.select_related("run__judge", "pair__matchup__instance")
        if one.pair.matchup.instance.source == "Name a colour."
    }
    assert found == {
        ("weighted_alpaca_eval_gpt4_turbo", "helpful_base"): ("parsed", -1, 0.25, "ab"),
        ("other", "helpful_base"): ("unparsed", None, None, "ab"),
        ("third", "helpful_base"): ("parsed", 0, 0.5, "ba"),
    }
    pair = Pair.objects.get(matchup__instance__source="Count.\n\nto two")
    assert (pair.matchup.system_a.name, pair.generation_b.text) == ("reference", "12")
    assert not Rating.objects.exists()


@pytest.mark.slow
def test_battles_are_votes_and_those_of_models_judgments(tmp_path: Path) -> None:
    two = [{"role": "user", "content": "More?"}, {"role": "assistant", "content": "Yes."}]
    records = [
        battle(),
        battle(winner="tie (bothbad)", judge="expert_1"),
        battle(winner="model_a", judge=["gpt-4", "pair-v2"]),
        battle(
            question_id=81,
            turn=2,
            conversation_a=[*battle()["conversation_a"], *two],
            conversation_b=[*battle()["conversation_b"], *two],
        ),
    ]
    run("import_battles", tmp_path / "b.json", records)
    votes = Rating.objects.values_list("display__assignment__annotator__code", "verdict", "rated_at__year")
    assert sorted(votes) == [("arena_user_965", 1, 2023), ("arena_user_965", 1, 2023), ("expert_1", 0, 2023)]
    [judgment] = Judgment.objects.all()
    assert (judgment.run.judge.name, judgment.verdict) == ("gpt-4-pair-v2", -1)
    text = Generation.objects.get(instance__instance_id="81-turn-2", system__name="koala-13b").text
    assert text == "Assistant: Good day.\n\nUser: More?\n\nAssistant: Yes."


def test_label_studios_annotations_and_predictions(tmp_path: Path) -> None:
    annotations = [{"result": region(selected="left")}, {"result": region(choices=["Tie"])}]
    cancelled = {"result": region(selected="right"), "was_cancelled": True}
    model = {"model_version": "m1", "result": region(selected="right")}
    one = task(*annotations, cancelled, predictions=[model])
    run("import_label_studio", tmp_path / "l.json", [one], "--left", "text1", "--right", "text2")
    votes = Rating.objects.values_list("display__assignment__annotator__code", "verdict")
    assert sorted(votes) == [("label-studio-1", -1), ("label-studio-2", 0)]
    [judgment] = Judgment.objects.all()
    assert (judgment.run.judge.name, judgment.verdict) == ("m1", 1)
    assert {one.name for one in Study.objects.get().systems.all()} == {"left", "right"}


@pytest.mark.any_engine
@pytest.mark.parametrize(
    ("command", "record", "said"),
    [
        ("import_alpacaeval", annotation(preference=3), "preference is 3; it must be from 1 to 2, 0, or null"),
        ("import_alpacaeval", annotation(generator_2="reference"), "both texts are of system 'reference'"),
        ("import_alpacaeval", annotation(output_2=None), "output_2 is missing"),
        ("import_alpacaeval", annotation(output_1="Green."), "has another text"),
        ("import_alpacaeval", annotation(system_a="candidate"), "system_a is 'candidate', and 'reference' before"),
        ("import_alpacaeval", annotation(pair_index=2), "lacks texts of pairs between"),
        ("import_alpacaeval", annotation(instance_id="x", instruction="Else?"), None),
        ("import_alpacaeval", annotation(input="\ud800"), "input holds half of a surrogate pair"),
        ("import_battles", battle(winner="draw"), "winner is 'draw'; it must be one of"),
        ("import_battles", battle(winner=["model_a"]), "winner is ['model_a']; it must be one of"),
        ("import_battles", battle(conversation_a=None), "conversation_a must be a list of messages"),
        ("import_battles", battle(conversation_a=battle()["conversation_a"][:1]), "conversation_a must be a list"),
        ("import_battles", battle(question_id=None, model_a="a\0b"), "model_a holds a NUL"),
        ("import_label_studio", task({"result": []}), "selects neither left nor right"),
        ("import_label_studio", {"id": 1}, "data is missing"),
        (
            "import_label_studio",
            task(*[{"result": region(selected="left"), "rater": "ann"}] * 2),
            "ann rated this pair",
        ),
    ],
)
def test_a_bad_record_is_named_by_its_line_and_nothing_is_stored(
    command: str, record: dict[str, Any], said: str | None, tmp_path: Path
) -> None:
    good = {"import_alpacaeval": annotation, "import_battles": battle}.get(command)
    first = good() if good else task({"result": region(selected="left")})
    more = ("--left", "text1", "--right", "text2") if command == "import_label_studio" else ()
    (tmp_path / "f.jsonl").write_text(f"{json.dumps(first)}\n{json.dumps(record)}\n", encoding="utf-8")
    if said is None:
        call_command(command, str(tmp_path / "f.jsonl"), "--study", "made")
        return
    with pytest.raises(CommandError) as refused:
        call_command(command, str(tmp_path / "f.jsonl"), "--study", "made", *more)
    assert said in str(refused.value)
    assert "line 2" in str(refused.value) or "line 1" in str(refused.value)
    assert not Study.objects.exists()
    assert not Generation.objects.exists()


@pytest.mark.slow
@pytest.mark.any_engine
def test_an_upload_reads_the_same_files() -> None:
    study = make_study("made", instances=0)
    api = APIClient(headers={"Authorization": f"Token {token_of(make_user('boss', Role.STUDY_ADMIN, study=study))}"})
    record = task({"result": region(selected="left")}, data={"prompt": "?", "left": "a", "right": "b"})
    file = SimpleUploadedFile("f.json", json.dumps([record]).encode())
    assert api.post("/api/v1/studies/made/import/", {"kind": "label-studio", "file": file}).status_code == 200
    contents = reason("added", contents=[reason(code, number=1) for code in ("instances", "ratings")])
    assert Upload.objects.get().message.values["contents"] == contents


def outputs(system: str, *texts: str, **changes: Any) -> str:
    rows = [{"instruction": f"Question {n}?", "output": text, "generator": system} for n, text in enumerate(texts)]
    return json.dumps([{**row, "dataset": "helpful_base", **changes} for row in rows], indent=1)


def test_outputs_of_several_systems_are_paired_with_the_reference(tmp_path: Path) -> None:
    for system, texts in (("one", ("a", "")), ("gpt4", ("b", "c")), ("two", ("d",))):
        (tmp_path / f"{system}.json").write_text(outputs(system, *texts), encoding="utf-8")
    files = [str(tmp_path / f"{system}.json") for system in ("one", "gpt4", "two")]
    call_command("import_alpacaeval", *files, "--study", "s", "--reference", "gpt4")
    pairs = Pair.objects.filter(matchup__instance__study__slug="s").order_by("matchup__instance__position", "pk")
    names = ("matchup__instance__source", "matchup__system_a__name", "matchup__system_b__name", "generation_b__text")
    assert list(pairs.values_list(*names)) == [
        ("Question 0?", "gpt4", "one", "a"),
        ("Question 0?", "gpt4", "two", "d"),
        ("Question 1?", "gpt4", "one", ""),
    ]
    # AlpacaEval's annotations of these outputs find them.
    said = annotation(instruction="Question 0?", generator_1="gpt4", output_1="b", generator_2="two", output_2="d")
    (tmp_path / "annotations.json").write_text(json.dumps([said]), encoding="utf-8")
    call_command("import_alpacaeval", str(tmp_path / "annotations.json"), "--study", "s")
    assert Judgment.objects.get().pair.matchup.system_b.name == "two"
    assert Study.objects.get().instances.count() == 2


@pytest.mark.any_engine
@pytest.mark.parametrize(
    ("texts", "line"),
    [
        ([outputs("one", "a")], BadLine(1, refusal("only_reference", reference="'one'"))),
        ([outputs("one", "a"), outputs("two", "b", "c")],
         BadLine(8, refusal("no_reference", reference="'one'"), "b.json")),
        ([outputs("one", "a"), outputs("one", "b")], BadLine(2, refusal("second_output", system="'one'"), "b.json")),
        ([outputs("one", "a"), outputs("two", "b", output=3)],
         BadLine(2, refusal("not_text", field="output", kind="a number"), "b.json")),
        (["[]", "[]"], BadLine(1, refusal("no_rows", what="outputs"), "a.json")),
    ],
    ids=["alone", "reference", "twice", "no text", "empty"],
)  # fmt: skip
def test_what_is_wrong_with_outputs_is_said_by_file_and_line(texts: list[str], line: BadLine) -> None:
    study = make_study("s", instances=0)
    files = [SimpleUploadedFile(name, text.encode()) for name, text in zip(("a.json", "b.json"), texts, strict=False)]
    upload = take_in(study=study, kind="outputs", files=files, options={"dataset": "", "system_1": "", "system_2": ""})
    assert [restored(**one) for one in upload.bad_lines] == [line]
    assert study.instances.count() == 0


@pytest.mark.slow
def test_the_longest_code_of_a_rater_comes_back_from_every_form(tmp_path: Path) -> None:
    code = "r" * 200
    files = {
        "import_battles": [battle(judge=code, instance_id="a")],
        "import_alpacaeval": [annotation(annotator=code, rater_kind="person")],
        "import_label_studio": [task({"rater": code, "result": region(selected="left")})],
    }
    for place, (command, records) in enumerate(files.items()):
        file = tmp_path / f"{place}.json"
        file.write_text(json.dumps(records))
        sides = ["--left", "text1", "--right", "text2"] * (command == "import_label_studio")
        call_command(command, str(file), "--study", f"s{place}", *sides)
        assert list(Study.objects.get(slug=f"s{place}").annotators.values_list("code", flat=True)) == [code]
