"""Conversations in the API."""

import pytest
from django.conf import settings

from annotation.importing.study_files import import_study
from tests.factories import make_user, signed_in

pytestmark = pytest.mark.django_db


def test_rows_have_the_messages_beside_the_transcript() -> None:
    data = (settings.BASE_DIR / "examples" / "chats.jsonl").read_bytes()
    study, _ = import_study(data=data, name="chats.jsonl", slug="chats")
    client = signed_in(make_user("reader", "researcher", study=study))
    instances = client.get("/api/v1/instances/?study=chats").json()["results"]
    roles = {row["instance_id"]: [message["role"] for message in row["messages"] or ()] for row in instances}
    assert roles == {
        "reverse-words": ["user", "assistant", "user"],
        "arabic-code": ["system", "user"],
        "weather-tool": [],
    }
    generations = client.get("/api/v1/generations/?study=chats").json()["results"]
    texts = {row["text"]: row["messages"] for row in generations if row["instance_id"] == "weather-tool"}
    assert [messages and len(messages) for messages in texts.values()] == [2, None]
