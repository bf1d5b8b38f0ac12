"""A look at a file: its fields, a mapping, and what its first records become, before anything is stored."""

import json
from pathlib import Path
from typing import Any

import pytest
from django.core.files.uploadedfile import SimpleUploadedFile
from django.core.management import call_command

from annotation.core.errors import BadFile
from annotation.core.files.sent_files import Joined
from annotation.core.refusals import refusal
from annotation.importing.formats.public_forms import AUTO
from annotation.management.commands._base import sent_files
from annotation.models import Instance, Pair, Rating, Study
from annotation.models.members import Role
from reporting.uploads.files import import_file
from reporting.uploads.jobs import take_in
from reporting.uploads.look import MOST_RECORDS, look_at
from tests.factories import api_of, csv_file, json_lines, make_study, make_user, mturk_row, signed_in

pytestmark = pytest.mark.django_db
PANDALM = {"idx": 7, "cmp_key": "a_b", "instruction": "Do.", "response1": "x", "response2": "<b>y</b>", "annotator1": 2}
OWN = {"id": 1, "Question": "Ask.", "answer_one": "x", "answer_two": "y", "scores": {"one": [1, 2]}}
GUESS = {
    "instance_id": "id",
    "source": "Question",
    "generations.answer_one": "answer_one",
    "generations.answer_two": "answer_two",
}
PAGE = "/studies/study/upload/"


@pytest.fixture
def study(settings: Any, tmp_path: Path) -> Study:
    settings.DATA_DIR = tmp_path / "data"
    return make_study(instances=0)


def look(data: bytes, *, kind: str = AUTO, name: str = "f.json", slug: str = "study", **options: str) -> Any:
    return look_at(Joined(data, name), kind=kind, slug=slug, options=options)


def test_a_public_form_is_named_and_its_first_records_are_shown_as_stored(study: Study) -> None:
    seen = look(json_lines([PANDALM, {**PANDALM, "idx": 8}]))

    assert (seen.form, seen.kind, seen.records, seen.more) == ("PandaLM’s test set", "alpacaeval", 2, False)
    assert dict(seen.fields)["response2"] == "<b>y</b>"
    assert (seen.mapping, seen.problems) == ({}, ())
    assert [(pair.matchup.instance.instance_id, pair.generation_a.text) for pair in seen.pairs] == [
        ("7", "x"),
        ("8", "x"),
    ]
    row = {"instance_id": "7", "pair_index": 0, "system_a": "a", "system_b": "b"}
    assert seen.rows[0] == {**row, "rater": "annotator1", "rating": 1, "shown_first": ""}
    assert not any(model.objects.exists() for model in (Instance, Pair, Rating))


def test_names_of_fields_make_a_guess(study: Study) -> None:
    seen = look(json_lines([OWN]))

    assert (seen.form, seen.kind, seen.mapping, seen.problems) == ("", "study", GUESS, ())
    assert dict(seen.fields)["scores.one"] == "[1, 2]"
    assert seen.rows == [
        {"instance_id": "1", "dataset": "default", "source": "Ask.", "generations": {"answer_one": "x", "answer_two": "y"}, "gold": None}
    ]  # fmt: skip
    votes = look(b"id;worker;winner;model_a;model_b\n1;w;model_a;x;y\n", name="v.csv")
    assert (votes.kind, votes.mapping) == (
        "ratings",
        {"instance_id": "id", "rater": "worker", "rating": "winner", "system_a": "model_a", "system_b": "model_b"},
    )
    assert [code for _, code, _ in votes.problems] == ["not_compared"]


def test_records_without_ids_are_numbered_and_unused_fields_named(study: Study) -> None:
    record = {"instruction": "Ask.", "input": "About this.", "response1": "x", "response2": "y"}
    data = json_lines([record, record])
    seen = look(data)

    assert (seen.mapping["instance_id"], seen.mapping["source"], seen.unused) == ("#", "instruction", ["input"])
    mapping = "\n".join(f"{name}={column}" for name, column in seen.mapping.items())
    import_file(kind=AUTO, data=data, name="f.json", slug="study", dataset="", mapping=mapping)
    assert list(study.instances.values_list("instance_id", flat=True)) == ["1", "2"]
    import_file(kind=AUTO, data=data, name="g.json", slug="study", dataset="")  # by the study's mapping
    assert study.instances.count() == 2


def test_a_file_that_is_cut_is_said_to_be(study: Study) -> None:
    record = {"instance_id": "a", "source": "s", "generations": {"m": "x", "n": "y"}}
    whole = json.dumps([{**record, "instance_id": str(number)} for number in range(3)], indent=1).encode()
    last = whole.decode().count("\n", 0, whole.rindex(b'"y"')) + 1

    assert look(whole[: whole.rindex(b'y"')]).problems == (
        (last, "not_json_at", str(refusal("not_json_at", error="Unterminated string starting", column=9))),
    )


@pytest.mark.parametrize(
    ("name", "data", "first", "more"),
    [
        ("f.csv", "instance_id;source\nä;b\nböö;c\n".encode("cp1252"), (2, "not_utf8"), 1),
        ("f.jsonl", json_lines([{"instance_id": str(i), "source": "s", "generations": {"m": "x"}} for i in range(30)]),
         (1, "too_few_systems"), 29),
    ],
)  # fmt: skip
def test_a_problem_of_many_lines_is_said_once(
    study: Study, name: str, data: bytes, first: tuple[int, str], more: int
) -> None:
    assert [(sort[:2], count) for sort, count in look(data, name=name).kinds_of_problems] == [(first, more)]


@pytest.mark.parametrize(
    ("name", "data", "codes"),
    [
        ("r.csv", "instance_id,reason\n1,x\n2,Gr\u00fc\u00dfe\n".encode("latin-1"), [(3, "not_utf8")]),
        ("r.jsonl", b'{"instance_id": 1\n{"instance_id": 2}\n', [(1, "not_json_at")]),
        ("r.jsonl", b"{}\n", [(1, "empty_file")]),
    ],
)
def test_why_a_file_shows_no_fields_is_said(study: Study, name: str, data: bytes, codes: list[tuple[int, str]]) -> None:
    with pytest.raises(BadFile) as raised:
        import_file(kind=AUTO, data=data, name=name, slug=study.slug, dataset="")
    assert [(line.number, line.reason.code) for line in raised.value.lines] == codes


def test_mturk_results_ask_for_names_and_an_empty_file_is_said_to_be_empty(study: Study) -> None:
    results = look(csv_file([mturk_row()]), name="results.csv")
    assert (results.kind, results.mapping, [code for _, code, _ in results.problems]) == (
        "mturk",
        {},
        ["file_of_mturk"],
    )
    with pytest.raises(BadFile, match="no record"):
        import_file(kind=AUTO, data=b"", name="f.jsonl", slug="study", dataset="")


LONG = "A text of several words."


@pytest.mark.parametrize(
    ("record", "mapping"),
    [
        ({"id": "d1", "text": "Long.", "gpt-4": "", "org/m-1.5": LONG, "model_a": "漢字で書いた長い要約です", "fluency": 3},
         {"instance_id": "id", "source": "text", "generations.org/m-1.5": "org/m-1.5", "generations.model_a": "model_a"}),
        ({"instance_id": "d1", "source": "Long.", "gpt-4": LONG, "m": LONG},
         {"generations.gpt-4": "gpt-4", "generations.m": "m"}),
        ({"id": "d1", "text": LONG, "Summary": "x", "m": LONG},
         {"instance_id": "id", "source": "text", "generations.Summary": "Summary", "generations.m": "m"}),
        ({"id": "d1", "Frage": LONG, "Antwort": LONG, "Anderes": LONG},
         {"instance_id": "id", "source": "Frage", "generations.Antwort": "Antwort", "generations.Anderes": "Anderes"}),
    ],
    ids=["unknown form", "named as sources", "one by its name", "no source by its name"],
)  # fmt: skip
def test_columns_of_several_words_are_offered_as_systems(
    study: Study, record: dict[str, Any], mapping: dict[str, str]
) -> None:
    for seen in (look(csv_file([record]), name="w.csv"), look(json_lines([record]))):
        assert (seen.kind, seen.mapping, seen.problems) == ("study", mapping, ())
        assert seen.rows[0]["generations"] == {
            name[12:]: record[column] for name, column in mapping.items() if "." in name
        }


@pytest.mark.parametrize(
    ("pair", "mapped"),
    [
        ({"pair": "alpha vs beta"}, {"systems": "pair"}),
        ({"pair": "alpha_beta"}, {"systems": "pair"}),
        ({"pair": "0", "model_1": "alpha", "model_2": "beta"},
         {"system_a": "model_1", "system_b": "model_2", "pair_index": "pair"}),
    ],
    ids=["versus", "underscore", "index"],
)  # fmt: skip
def test_a_column_of_each_annotator_is_offered_as_a_rater(
    settings: Any, tmp_path: Path, pair: dict[str, str], mapped: dict[str, str]
) -> None:
    settings.DATA_DIR = tmp_path / "data"
    study = make_study(k=1)
    answers = {"annotator1": "A", "annotator2": "tie", "Rater 3": "model_b", "annotator4": ""}
    data = csv_file([{"id": "news-1", **pair, **answers}])
    ratings = {f"ratings.{name}": name for name in answers}
    seen = look(data, name="r.csv")

    assert (seen.kind, seen.mapping, seen.problems) == ("ratings", {"instance_id": "id", **mapped, **ratings}, ())
    mapping = "\n".join(f"{name}={column}" for name, column in seen.mapping.items())
    import_file(kind=AUTO, data=data, name="r.csv", slug="study", dataset="", mapping=mapping)
    stored = Rating.objects.filter(display__pair__matchup__instance__study=study)
    rows = stored.values_list("display__assignment__annotator__code", "verdict", "display__a_is_left")
    assert sorted(rows) == [("Rater 3", 1, None), ("annotator1", -1, None), ("annotator2", 0, None)]


def test_a_field_that_names_no_two_systems_is_refused(study: Study) -> None:
    seen = look(
        csv_file([{"id": "d1", "pair": pair, "annotator1": "A", "annotator2": "B"} for pair in ("x", "x vs ")]),
        name="r.csv",
    )

    assert [(line, code) for line, code, _ in seen.problems] == [(2, "not_kind"), (3, "not_kind")]


def test_problems_are_listed_by_line(study: Study) -> None:
    short = {"source": "s", "generations": {"m": "x"}}
    rows = [json.dumps({**short, "instance_id": "1"}), "{", json.dumps({**short, "instance_id": "3"})]

    assert [number for number, *_ in look("\n".join(rows).encode(), name="f.jsonl").problems] == [1, 2, 3]


def test_the_mapping_of_an_earlier_file_is_used_for_one_of_the_same_fields(study: Study, tmp_path: Path) -> None:
    for number in (1, 2):
        (tmp_path / f"{number}.json").write_text(json.dumps([{**OWN, "id": number}]))
    mapping = {**GUESS, "dataset": '"mine"'}
    arguments = [part for name, column in mapping.items() for part in ("--map", f"{name}={column}")]
    call_command("import_file", str(tmp_path / "1.json"), "--study", "study", *arguments)

    assert look(json_lines([{**OWN, "id": 2}])).mapping == mapping
    call_command("import_file", str(tmp_path / "2.json"), "--study", "study")
    assert list(study.instances.values_list("instance_id", "dataset")) == [("1", "mine"), ("2", "mine")]


def test_the_first_records_of_every_file_are_looked_at_on_their_lines(study: Study) -> None:
    count = 3 * MOST_RECORDS
    question = [{"question_id": number, "category": "c", "turns": ["Ask."]} for number in range(count)]
    answers = [
        {"question_id": number, "model_id": model, "choices": [{"turns": ["x" if number else 3]}]}
        for model in ("m", "n")
        for number in range(count)
    ]
    data = json_lines([*question, *answers])
    seen = look_at(Joined(data, "q", ((0, "q"), (count, "m"), (2 * count, "n"))), kind=AUTO, slug="study", options={})

    assert (seen.records, [(number, code) for number, code, _ in seen.problems]) == (
        3 * count,
        [(1, "not_text"), (1, "not_text")],
    )


def test_the_page_looks_and_then_imports(study: Study) -> None:
    client = signed_in(make_user("ada", Role.RESEARCHER, study=study))
    sent = {"kind": AUTO, "file": SimpleUploadedFile("f.json", json_lines([PANDALM]))}
    page = client.post(PAGE, {**sent, "look": ""}, follow=True)
    (address, _status), *_ = page.redirect_chain

    assert page.context["look"].form == "PandaLM’s test set"
    assert "<b>y</b>" not in page.text
    assert "&lt;b&gt;y&lt;/b&gt;" in page.text
    assert not Instance.objects.exists()
    key = address.split("/")[4]
    done = client.post(f"{PAGE}{key}/look/", {"kind": AUTO, "import": ""}, follow=True)
    assert done.redirect_chain == [("/studies/study/", 302)]
    assert Rating.objects.count() == 1
    assert client.get(f"{PAGE}{key}/look/")["Location"] == f"{PAGE}{key}/"


def test_the_page_fills_in_a_guess_that_can_be_changed(study: Study) -> None:
    client = signed_in(make_user("ada", Role.RESEARCHER, study=study))
    sent = {"kind": AUTO, "file": SimpleUploadedFile("f.json", json_lines([OWN]))}
    page = client.post(PAGE, {**sent, "look": ""}, follow=True)
    guess = page.context["form"]["mapping"].value()

    assert (page.context["form"]["kind"].value(), guess.splitlines()) == (
        "study",
        [f"{a}={b}" for a, b in GUESS.items()],
    )
    address = page.redirect_chain[0][0].partition("?")[0]
    again = client.post(address, {"kind": "study", "mapping": guess.replace("Question", "nothing"), "look": ""})
    assert [code for _, code, _ in again.context["look"].problems] == ["missing", "not_mapped"]
    wrong = client.post(address, {"kind": "study", "mapping": "x", "import": ""})
    assert (wrong.status_code, "look" in wrong.context) == (422, False)
    client.post(address, {"kind": "study", "mapping": guess, "import": ""})
    assert study.instances.get().source == "Ask."


def test_files_kept_for_another_study_are_not_found(study: Study) -> None:
    other = make_study("other", instances=0)
    sent = {"kind": AUTO, "file": SimpleUploadedFile("f.json", json_lines([PANDALM])), "look": ""}
    answer = signed_in(make_user("bo", Role.RESEARCHER, study=other)).post("/studies/other/upload/", sent)
    client, address = signed_in(make_user("cy", Role.RESEARCHER, study=study)), answer["Location"].partition("?")[0]
    for path in (address.replace("/other/", "/study/"), f"{PAGE}../look/", f"{PAGE}x/look/"):
        assert client.get(path).status_code == 404


def test_the_api_looks_by_default_at_any_form(study: Study) -> None:
    api = api_of(make_user("boss", Role.STUDY_ADMIN, study=study))
    address = "/api/v1/studies/study/import/"
    seen = api.post(f"{address}look/", {"file": SimpleUploadedFile("f.json", json_lines([PANDALM]))}).json()

    assert (seen["kind"], seen["records"], seen["problems"], seen["fields_of_first"]["idx"]) == (
        "alpacaeval",
        1,
        [],
        "7",
    )
    assert [pair["text_b"] for pair in seen["pairs"]] == ["<b>y</b>"]
    assert not Instance.objects.exists()
    assert api.post(address, {"kind": "outputz", "file": SimpleUploadedFile("f.json", b"[]")}).status_code == 422
    assert api.post(address, {"file": SimpleUploadedFile("f.json", json_lines([PANDALM]))}).status_code == 200
    assert Rating.objects.count() == 1


def test_outputs_that_name_no_system_are_of_the_one_that_their_file_is_named_after(
    study: Study, tmp_path: Path
) -> None:
    output = {"instruction": "Ask.", "output": "x"}
    (tmp_path / "org-1.5.json").write_text(json.dumps([output]))
    (tmp_path / "gpt-4.jsonl").write_text(f"{json.dumps(output)}\n\n{json.dumps({'output': 3})}\n")
    (tmp_path / "named.json").write_text(json.dumps([{**output, "generator": "llama"}]))
    paths = {path.stem: str(path) for path in tmp_path.glob("*.json*")}
    seen = look_at(sent_files([paths["org-1.5"], paths["named"]]), kind=AUTO, slug="study", options={})
    assert ("named after" in seen.form, dict(seen.fields)["generator"]) == (True, "org-1.5")
    assert [(pair.matchup.system_a.name, pair.matchup.system_b.name) for pair in seen.pairs] == [("org-1.5", "llama")]
    lacking = look_at(sent_files([paths["gpt-4"]]), kind=AUTO, slug="study", options={})
    assert [(line, code) for line, code, _ in lacking.problems] == [(3, "missing"), (3, "not_text")]
    with pytest.raises(BadFile) as refused:
        import_file(kind=AUTO, data=sent_files([paths["org-1.5"]]).data, name="o", slug="study", dataset="")
    assert [line.reason for line in refused.value.lines] == [refusal("only_reference", reference="'org-1.5'")]

    sent = [SimpleUploadedFile(Path(paths[name]).name, Path(paths[name]).read_bytes()) for name in ("org-1.5", "named")]
    upload = take_in(study=study, kind="outputs", files=sent, options={"dataset": ""})
    assert (upload.status, [*study.systems.values_list("name", flat=True)]) == ("done", ["org-1.5", "llama"])


def test_the_command_shows_and_stores_nothing(study: Study, tmp_path: Path, capsys: Any) -> None:
    (tmp_path / "f.json").write_text(json.dumps([OWN]))
    call_command("import_file", str(tmp_path / "f.json"), "--study", "study", "--look")

    assert "--map generations.answer_one=answer_one" in capsys.readouterr().out.splitlines()
    assert not Instance.objects.exists()
