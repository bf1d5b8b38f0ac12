"""Conversations in study files: what is stored, what is refused, and that they are exported as they came."""

import csv
import gzip
import io
import json
from pathlib import Path
from typing import Any

import pytest
from django.conf import settings
from django.core.management import call_command

from annotation.core.conversations import MOST_MESSAGES, Transcript, transcript
from annotation.core.errors import BadFile
from annotation.importing.new_studies import copy_study
from annotation.importing.study_files import import_study
from annotation.management.commands._base import read_files
from annotation.models import Generation, Instance, Study
from reporting.bundle.exporting import export_bundle
from reporting.bundle.importing import import_bundle
from reporting.bundle.verifying import verify_bundle
from reporting.exports.files import FORMATS, file_name
from tests.factories import json_lines

CHATS = settings.BASE_DIR / "examples" / "chats.jsonl"
ASKED = {"role": "user", "content": "Which?"}
ANSWERED = {"role": "assistant", "content": "This one.", "name": "panda", "n": 1e23}
engine = [pytest.mark.django_db, pytest.mark.engine]


def line(source: Any = "s", a: Any = "a", **more: Any) -> dict[str, Any]:
    return {"instance_id": "1", "source": source, "generations": {"a": a, "b": ["b"]}, **more}


def chats(slug: str = "chats") -> Study:
    study, _ = import_study(data=CHATS.read_bytes(), name=CHATS.name, slug=slug)
    return study


def contents(study: Study) -> dict[str, Any]:
    """Return every row's text and messages."""
    texts = Generation.objects.filter(instance__study=study).order_by("pk")
    return {
        "sources": list(study.instances.values_list("source", "messages")),
        "texts": list(texts.values_list("instance__instance_id", "system__name", "index", "text", "messages")),
    }


@pytest.mark.parametrize(
    ("messages", "text"),
    [
        pytest.param([ASKED], "Which?", id="one"),
        pytest.param([ASKED, ANSWERED], "User: Which?\n\nAssistant: This one.", id="two"),
        pytest.param(
            [
                {"role": "System", "content": ""},
                {"role": "tool", "content": [{"type": "text", "text": t} for t in "ab"]},
            ],
            "System: \n\nTool: a\n\nb",
            id="parts",
        ),
        pytest.param(
            [ASKED, {"role": "assistant", "content": "No.\n\nUser: forged"}],
            "User: Which?\n\nAssistant: No.\n\nUser: forged",
            id="imitated turn",
        ),
    ],
)
def test_a_transcript_names_the_speakers(messages: list[dict[str, Any]], text: str) -> None:
    assert (Transcript(messages), Transcript(messages).messages) == (text, messages)
    assert transcript(messages, {"user": "Person"}) == text.replace("User: Which?", "Person: Which?")


@pytest.mark.django_db
@pytest.mark.engine
def test_messages_are_stored_beside_their_transcript() -> None:
    record = line([ASKED], a=[[ANSWERED, ASKED], "text", [ANSWERED]], dataset="d")
    study, _ = import_study(data=json_lines([record]), name="f.jsonl", slug="s")
    instance = study.instances.get()
    assert (instance.source, json.loads(str(instance.messages))) == ("Which?", [ASKED])
    stored = Generation.objects.filter(system__name="a").order_by("index")
    assert [(row.text, row.messages and json.loads(row.messages)) for row in stored] == [
        ("Assistant: This one.\n\nUser: Which?", [ANSWERED, ASKED]),
        ("text", None),
        ("This one.", [ANSWERED]),
    ]


@pytest.mark.django_db
@pytest.mark.parametrize(
    ("texts", "count"),
    [
        pytest.param([ASKED, ANSWERED], 1, id="messages"),
        pytest.param([[ASKED, ANSWERED]], 1, id="list of messages"),
        pytest.param([[ASKED], [ANSWERED]], 2, id="two lists"),
        pytest.param(["a", [ANSWERED]], 2, id="text and messages"),
    ],
)
def test_lists_of_texts_messages_and_conversations_are_told_apart(texts: Any, count: int) -> None:
    import_study(data=json_lines([line(a=texts)]), name="f.jsonl", slug="s")
    assert Generation.objects.filter(system__name="a").count() == count


@pytest.mark.parametrize(
    ("source", "codes"),
    [
        pytest.param([], ["empty_list"], id="none"),
        pytest.param(["a"], ["not_messages"], id="texts"),
        pytest.param([{"from": "human", "value": "a"}], ["not_messages"], id="other keys"),
        pytest.param([{"role": "critic", "content": "a"}], ["not_role"], id="other role"),
        pytest.param([{"role": ["user"], "content": "a"}], ["not_role"], id="role no text"),
        pytest.param([{"role": "assistant", "content": None, "tool_calls": []}], ["not_text"], id="no content"),
        pytest.param(
            [{"role": "user", "content": [{"type": "image_url", "image_url": {"url": "x"}}]}],
            ["not_text_part"],
            id="image",
        ),
        pytest.param([{"role": "user", "content": []}], ["empty_list"], id="no part"),
        pytest.param([{"role": "user", "content": [{"type": "text", "text": 1}]}], ["not_text"], id="part no text"),
        pytest.param([{"role": "user", "content": "\x00"}], ["nul_in_text"], id="NUL"),
        pytest.param([{"role": "user", "content": "a", "name": "\ud800"}], ["unstorable_in"], id="surrogate"),
        pytest.param([ASKED] * (MOST_MESSAGES + 1), ["too_many_messages"], id="many"),
    ],
)
def test_what_is_no_conversation_is_refused(source: Any, codes: list[str]) -> None:
    for record in (line(source), line(a=[source])):
        with pytest.raises(BadFile) as raised:
            import_study(data=json_lines([record]), name="f.jsonl", slug="s")
        assert [bad.reason.code for bad in raised.value.lines] == codes


@pytest.mark.django_db
def test_blank_conversations_are_texts_of_a_system_but_no_source_to_sample_for() -> None:
    blank = [{"role": "user", "content": " "}]
    record = {"instance_id": "1", "source": blank}
    with pytest.raises(BadFile) as raised:
        import_study(data=json_lines([record]), name="f.jsonl", slug="s", sources_only=True)
    assert [bad.reason.code for bad in raised.value.lines] == ["empty"]
    _, stored = import_study(data=json_lines([line(a=blank)]), name="f.jsonl", slug="s")
    assert stored.blank == 1


@pytest.mark.django_db
@pytest.mark.parametrize("form", FORMATS)
def test_an_export_is_read_as_it_was_written(form: str, tmp_path: Path) -> None:
    study = chats()
    out = tmp_path / file_name("texts", form)
    call_command("export_study", study.slug, "--what", "texts", "--format", form, "--out", str(tmp_path))
    with read_files([str(out)]) as (data, name):
        _, again = import_study(data=data, name=name, slug=study.slug)
        copy, _ = import_study(data=data, name=name, slug="copy")
    assert again.counts == {"added": 0, "extended": 0, "unchanged": 3}
    assert contents(copy) == contents(study)
    if form == "jsonl":
        came = [json.loads(text) for text in CHATS.read_text().splitlines()]
        went = [json.loads(text) for text in out.read_text().splitlines()]
        for old, new in zip(came, went, strict=True):
            assert json.dumps(old["source"]) == json.dumps(new["source"])


@pytest.mark.django_db
def test_a_copy_and_a_bundle_hold_the_same_messages(tmp_path: Path) -> None:
    study = chats()
    copy = copy_study(study=study, slug="copy", group=study.group, with_instances=True)
    assert contents(copy) == contents(study)

    export_bundle(study, tmp_path / "bundle")
    verify_bundle(tmp_path / "bundle")
    made = import_bundle(tmp_path / "bundle", slug="made")
    assert contents(made) == contents(study)
    export_bundle(made, tmp_path / "again")
    old, new = (gzip.decompress((tmp_path / name / "instances.jsonl.gz").read_bytes()) for name in ("bundle", "again"))
    assert old == new


@pytest.mark.django_db
def test_a_cell_of_a_wide_table_may_hold_messages() -> None:
    file = io.StringIO()
    writer = csv.writer(file)
    writer.writerow(["instance_id", "source", "a/1", "b/1"])
    writer.writerow(["1", json.dumps([ASKED]), json.dumps([ANSWERED]), '[{"role": "user"}]'])
    import_study(data=file.getvalue().encode(), name="f.csv", slug="s")
    assert [(row.text, row.messages is None) for row in Generation.objects.order_by("pk")] == [
        ("This one.", False),
        ('[{"role": "user"}]', True),
    ]
    assert Instance.objects.get().content == "Which?"


@pytest.mark.django_db
def test_other_messages_under_the_same_transcript_are_a_contradiction() -> None:
    forged = [{"role": "user", "content": "Which?\n\nAssistant: This one."}]
    both = [ASKED, ANSWERED]
    text = transcript(both)
    import_study(data=json_lines([line(both)]), name="f.jsonl", slug="s")
    _, same = import_study(data=json_lines([line(text)]), name="f.jsonl", slug="s")
    assert same.unchanged == 1  # exports to some programs have the transcript alone
    for other in (forged, [ASKED, {**ANSWERED, "n": 2}]):
        with pytest.raises(BadFile):
            import_study(data=json_lines([line(other)]), name="f.jsonl", slug="s")
