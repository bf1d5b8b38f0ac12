"""Labelled outputs and preference pairs: two outputs of which one is known to be better."""

import json
from collections import deque
from typing import Any

import pytest
from django.core.management import CommandError, call_command

from annotation.core.errors import BadFile
from annotation.core.files import lines
from annotation.core.reasons import Reason
from annotation.core.refusals import refusal
from annotation.importing.formats.labelled import LABELLED, PREFERENCES, detect_form, parse_labelled
from annotation.importing.formats.study_file import InstanceRow
from annotation.importing.study_files import import_labelled
from annotation.models import Generation, Instance, Pair
from tests.factories import json_lines


def labelled(**changes: Any) -> dict[str, Any]:
    record = {"input": "Say hello.", "output_1": "Hello.", "output_2": "Why?", "label": 1}
    return {key: value for key, value in {**record, **changes}.items() if value is not None}


def preference(**changes: Any) -> dict[str, Any]:
    record = {"prompt": "Say hello.", "chosen": "Hello.", "rejected": "Why?"}
    return {key: value for key, value in {**record, **changes}.items() if value is not None}


def parse(*records: dict[str, Any], form: str = LABELLED, name: str = "Natural.json", **more: Any) -> list[InstanceRow]:
    return parse_labelled(json.dumps(records, indent=1).encode(), name, form=form, **more)


def reasons(data: bytes, form: str = LABELLED) -> list[tuple[int, Reason]]:
    with pytest.raises(BadFile) as caught:
        parse_labelled(data, "f.jsonl", form=form)
    return [(line.number, line.reason) for line in caught.value.lines]


def test_a_labelled_record_becomes_an_instance_with_two_systems_and_gold() -> None:
    first, second = parse(labelled(), labelled(label=2, input="Say goodbye.", output_1=""))

    assert (first.instance_id, first.dataset, first.source) == ("Natural-0", "Natural", "Say hello.")
    assert first.generations == {"output_1": ["Hello."], "output_2": ["Why?"]}
    assert first.gold == {"better": "output_1"}
    assert (second.instance_id, second.gold) == ("Natural-1", {"better": "output_2"})
    assert second.generations["output_1"] == [""]


@pytest.mark.parametrize(
    ("name", "given", "tags"),
    [
        pytest.param("Natural.json", (), ["natural"], id="natural"),
        pytest.param("Adversarial_Manual.json", (), ["adversarial"], id="adversarial"),
        pytest.param("supernaturals.json", (), None, id="no-word-of-its-own"),
        pytest.param("Natural.json", ("hard", "hard"), ["hard"], id="given"),
    ],
)
def test_tags_are_given_or_read_off_the_name(name: str, given: tuple[str, ...], tags: list[str] | None) -> None:
    (row,) = parse(labelled(), name=name, tags=given)
    assert row.metadata.get("tags") == tags


def test_ids_tags_and_further_fields_of_a_record_are_kept() -> None:
    named, numbered = parse(labelled(id="x7", tags=["own"], source_file="a"), labelled(id=12), name="Natural.json")
    assert (named.instance_id, numbered.instance_id) == ("x7", "12")
    assert named.metadata == {"source_file": "a", "tags": ["own", "natural"]}


def test_json_lines_and_an_array_say_the_same() -> None:
    records = [labelled(), labelled(label="2")]
    as_lines = parse_labelled(json_lines(records), "Natural.jsonl", form=LABELLED)
    as_array = parse(*records)
    assert [(row.instance_id, row.gold) for row in as_lines] == [(row.instance_id, row.gold) for row in as_array]


def test_chosen_is_gold_on_either_side_by_the_seed() -> None:
    records = [preference(prompt=f"Question {number}") for number in range(60)]
    rows = parse(*records, form=PREFERENCES, name="pairs.jsonl")
    for row in rows:
        assert row.generations[row.gold["better"]] == ["Hello."]
        assert sorted(text for texts in row.generations.values() for text in texts) == ["Hello.", "Why?"]
    sides = [row.gold["better"] for row in rows if row.gold]
    assert 15 < sides.count("output_1") < 45  # a rater who always takes the first text is right about half of the time
    assert sides == [row.gold["better"] for row in parse(*records, form=PREFERENCES, name="pairs.jsonl") if row.gold]
    other = parse(*records, form=PREFERENCES, name="pairs.jsonl", seed=1)
    assert sides != [row.gold["better"] for row in other if row.gold]


def test_every_bad_record_is_listed_with_its_line() -> None:
    data = json_lines(
        [
            labelled(),
            labelled(label=3),
            labelled(label=True),
            labelled(output_2=None, input=" "),
            labelled(id="twice"),
            labelled(id="twice"),
            labelled(tags="natural"),
            labelled(id=1.5),
            labelled(note="\x00"),
        ]
    )
    assert reasons(data + b"{nonsense\n") == [
        (2, refusal("not_one_of", field="label", words="1 or 2, the better output", value="3")),
        (3, refusal("not_one_of", field="label", words="1 or 2, the better output", value="True")),
        (4, refusal("empty", field="input")),
        (4, refusal("missing", field="output_2")),
        (6, refusal("repeated_on", field="instance", value="'twice'", line=5)),
        (7, refusal("not_a", field="tags", kind="a list of short texts")),
        (8, refusal("no_id")),
        (9, refusal("unstorable", key="'note'")),
        (10, refusal("not_json_at", error="Expecting property name enclosed in double quotes", column=2)),
    ]


def test_preferences_without_a_rejected_text_are_listed() -> None:
    data = json_lines([preference(rejected=None), preference(chosen=["a", "b"]), preference(chosen=7)])
    assert reasons(data, PREFERENCES) == [
        (1, refusal("missing", field="rejected")),
        (2, refusal("not_messages", field="chosen")),
        (3, refusal("not_text", field="chosen", kind="a number")),
    ]


def said(*turns: str) -> list[dict[str, str]]:
    """Messages of a user and an assistant in turns."""
    return [{"role": ("user", "assistant")[place % 2], "content": text} for place, text in enumerate(turns)]


def compared(**record: Any) -> tuple[str, str, str]:
    """Return source, chosen and rejected text as they are stored."""
    (row,) = parse(record, form=PREFERENCES, name="pairs.jsonl")
    better = row.gold["better"]
    (worse,) = set(row.generations) - {better}
    return row.source, row.generations[better][0], row.generations[worse][0]


TALK = "\n\nHuman: Hi?\n\nAssistant: Yes?\n\nHuman: A joke.\n\nAssistant:"


@pytest.mark.parametrize(
    ("record", "expected"),
    [
        pytest.param(
            {"chosen": f"{TALK} Knock knock.", "rejected": f"{TALK} No."},
            ("Human: Hi?\n\nAssistant: Yes?\n\nHuman: A joke.", "Knock knock.", "No."),
            id="two-transcripts",
        ),
        pytest.param(
            {"chosen": f"{TALK} No way.", "rejected": f"{TALK} No."},
            ("Human: Hi?\n\nAssistant: Yes?\n\nHuman: A joke.", "No way.", "No."),
            id="answers-that-begin-alike",
        ),
        pytest.param(
            {"chosen": said("A joke.", "Knock."), "rejected": said("A joke.", "No.")},
            ("A joke.", "Knock.", "No."),
            id="messages-with-one-question",
        ),
        pytest.param(
            {"prompt": "A joke.", "chosen": said("Hi", "Yes?", "A joke.", "Knock."), "rejected": said("Hi", "Yes?", "A joke.", "No.")},
            ("User: Hi\n\nAssistant: Yes?\n\nUser: A joke.", "Knock.", "No."),
            id="messages-with-a-conversation",
        ),
        pytest.param(
            {"prompt": said("A joke."), "chosen": said("", "Knock.")[1:], "rejected": said("", "No.")[1:]},
            ("A joke.", "Knock.", "No."),
            id="messages-of-the-answers-alone",
        ),
        pytest.param(
            {"chosen": f"{TALK} Yes.", "rejected": TALK},
            ("Human: Hi?\n\nAssistant: Yes?\n\nHuman: A joke.", "Yes.", ""),
            id="an-empty-end",
        ),
        pytest.param(
            {"prompt": "A joke.", "chosen": "", "rejected": "No."}, ("A joke.", "", "No."), id="an-empty-text"
        ),
        pytest.param(
            {"chosen": said("A joke.", "Knock."), "rejected": said("A joke.", "")},
            ("A joke.", "Knock.", ""),
            id="an-empty-message",
        ),
        pytest.param(
            {"chosen": said("A joke.", "No."), "rejected": said("A joke.", "No.")},
            ("A joke.", "No.", "No."),
            id="equal-answers",
        ),
    ],
)  # fmt: skip
def test_conversations_are_told_from_their_ends(record: dict[str, Any], expected: tuple[str, str, str]) -> None:
    assert compared(**record) == expected


def test_answers_without_a_common_beginning_need_a_prompt() -> None:
    data = json_lines(
        [
            {"chosen": "Yes.", "rejected": "No."},
            {"chosen": said("Hi", "Yes."), "rejected": said("Ho", "No.")},
            {"chosen": "Yes.", "rejected": said("Ho", "No.")},
            {"prompt": " ", "chosen": "Yes.", "rejected": "No."},
            {"prompt": "A joke.", "chosen": "Yes."},
            {"prompt": "A joke.", "chosen": None, "rejected": "No."},
            {"chosen": said("", "Knock."), "rejected": said("", "No.")},
        ]
    )
    assert reasons(data, PREFERENCES) == [
        (1, refusal("no_common_conversation")),
        (2, refusal("no_common_message")),
        (3, refusal("two_kinds")),
        (4, refusal("empty", field="prompt")),
        (5, refusal("missing", field="rejected")),
        (6, refusal("not_text", field="chosen", kind="null")),
        (7, refusal("empty", field="the prompt")),
    ]


def test_a_bad_record_of_an_array_is_named_by_the_line_on_which_it_starts() -> None:
    data = json.dumps([labelled(), labelled(label=0)], indent=2).encode()
    assert reasons(data) == [(8, refusal("not_one_of", field="label", words="1 or 2, the better output", value="0"))]


ARRAYS: list[tuple[bytes, list[tuple[int, Reason]]]] = [
    (b"[]", []),
    (b'[{"a": 1}', [(1, refusal("not_json_at", error="Expecting ',' delimiter", column=10))]),
    (b'[{"a": 1},\n]', [(2, refusal("not_json_at", error="Expecting value", column=1))]),
    (b'[{"a": 1}]\nx', [(2, refusal("not_json_at", error="Extra data", column=1))]),
    (
        b'[{"a": 1, "a": 2},\n3]',
        [(1, refusal("not_json", error="the key 'a' is there more than once")), (2, refusal("not_object_of_array"))],
    ),
    (  # named by its object, where all stand on one line
        b'[{"a": 1}, 3, {"a": Infinity}]\n',
        [(2, refusal("not_object_of_array")), (3, refusal("not_json", error="Infinity is not a number of JSON"))],
    ),
    (b"[\n\xff]", [(2, refusal("not_utf8", byte=1))]),
    (b"[" * 99_999, [(1, refusal("not_json_at", error="nested more than 100 levels deep", column=2))]),
]


def test_arrays_are_read_with_every_mistake_named() -> None:
    for data, expected in ARRAYS:
        records, bad = lines.read_json(data)
        deque(records, maxlen=0)
        assert [(line.number, line.reason) for line in bad] == expected, data[:40]


def test_the_form_is_told_by_the_fields() -> None:
    study_file = {"instance_id": "a", "source": "b", "generations": {}}
    for record, form in ((labelled(), LABELLED), (preference(), PREFERENCES), (study_file, None)):
        assert detect_form(json_lines([record])) == detect_form(json.dumps([record]).encode()) == form
    assert detect_form(b"") is None
    assert reasons(b"\n") == [(1, refusal("no_rows", what="instance"))]


@pytest.mark.django_db
def test_importing_twice_changes_nothing_and_another_seed_is_refused() -> None:
    records = [preference(prompt=f"Question {number}") for number in range(8)]
    given = {"form": PREFERENCES, "data": json_lines(records), "name": "pairs.jsonl", "slug": "s"}
    study, stored = import_labelled(**given)
    assert (stored.added, Pair.objects.count()) == (8, 8)
    record = study.imports.get()
    assert (record.kind, record.options["side_seed"], record.options["dataset"]) == ("preferences", 0, "pairs")

    _, again = import_labelled(**given)
    assert (again.added, again.unchanged, study.imports.count()) == (0, 8, 1)
    with pytest.raises(BadFile):
        import_labelled(**given, side_seed=1)
    assert Generation.objects.count() == 16


@pytest.mark.django_db
def test_the_command_knows_the_forms_apart(tmp_path: Any, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "Adversarial_Manual.json").write_text(json.dumps([labelled()]))
    (tmp_path / "hh.jsonl").write_bytes(json_lines([preference()]))
    call_command("import_study", str(tmp_path / "Adversarial_Manual.json"), "--study", "s")
    call_command("import_study", str(tmp_path / "hh.jsonl"), "--study", "s", "--dataset", "helpful", "--tag", "chat")
    assert "1 instance added" in capsys.readouterr().out
    assert list(Instance.objects.order_by("position").values_list("instance_id", "dataset", "metadata")) == [
        ("Adversarial_Manual-0", "Adversarial_Manual", {"tags": ["adversarial"]}),
        ("helpful-0", "helpful", {"tags": ["chat"]}),
    ]
    (tmp_path / "f.jsonl").write_bytes(json_lines([{"instance_id": "a", "source": "b", "generations": {}}]))
    with pytest.raises(CommandError, match="--tag and --side-seed"):
        call_command("import_study", str(tmp_path / "f.jsonl"), "--study", "s", "--tag", "x")
    with pytest.raises(CommandError, match="chosen is missing"):
        call_command("import_study", str(tmp_path / "Adversarial_Manual.json"), "--study", "s", "--form", "preferences")


@pytest.mark.parametrize("wrap", ["[%s]", "%s"], ids=["array", "lines"])
def test_a_number_too_long_to_be_read_is_a_bad_line(wrap: str) -> None:
    one = '{"input": "i", "output_1": "a", "output_2": "b", "label": 1, "seed": ' + "1" * 5000 + "}"
    data = (wrap % one).encode()
    assert detect_form(data) is None
    with pytest.raises(BadFile, match=r"line 1: not valid JSON: a number has 5,000 digits$"):
        parse_labelled(data, "f.json", form="labelled")
