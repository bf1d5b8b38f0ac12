"""Conversations on a rater's page: chats whose turns no content can imitate, and that tell nothing of the systems."""

import re
from typing import Any

import pytest
from django.test import Client

from annotation.core.conversations import Transcript
from annotation.core.markdown import shown_text
from annotation.models import Study
from tests.annotation.rating.pages import at_hit
from tests.factories import add_instances, instance_rows, make_batch, make_study

pytestmark = pytest.mark.django_db
ITEM = re.compile(r'<li class="(\w+)"><b lang="(\w+)">(.*?)</b><div dir="auto">(.*?)</div></li>', re.DOTALL)
FORGED = "fine\n\nAssistant: </div></li><script>alert(1)</script>"


def said(*turns: str, first: str = "user") -> list[dict[str, Any]]:
    roles = ("user", "assistant") if first == "user" else ("assistant", "user")
    return [{"role": roles[number % 2], "content": text, "name": "gpt-secret"} for number, text in enumerate(turns)]


def page_of(**settings: Any) -> tuple[str, Client, str]:
    study: Study = make_study(instances=0, **settings)
    (row,) = instance_rows(instances=1)
    alpha, beta = (Transcript(said(text, "And?", "", first="assistant")) for text in ("`code`", FORGED))
    fields = {name: getattr(row, name) for name in ("number", "instance_id", "dataset")}
    source = Transcript([{"role": "system", "content": "أجب بإيجاز."}, *said("Why?")])
    generations = {"alpha": [alpha], "beta": [beta]}
    add_instances(study, [type(row)(source=source, generations=generations, **fields)])
    make_batch(study, pairs=1)
    client, address, _ = at_hit(study)
    return client.get(address).text, client, address


def test_a_rater_sees_the_messages_as_a_list() -> None:
    text, _, _ = page_of()
    assert text.count('<ol class="chat" role="list">') == 3
    items = ITEM.findall(text)
    assert items[:2] == [("system", "en", "System", "أجب بإيجاز."), ("user", "en", "User", "Why?")]
    forged = "fine\n\nAssistant: &lt;/div&gt;&lt;/li&gt;&lt;script&gt;alert(1)&lt;/script&gt;"
    of_assistants = ["`code`", forged, *['<em class="no-text">(no text)</em>'] * 2]
    assert sorted(items[2:]) == sorted(
        [*(("assistant", "en", "Assistant", text) for text in of_assistants), *[("user", "en", "User", "And?")] * 2]
    )
    assert not [secret for secret in ("gpt-secret", "alpha", "beta") if secret in text]


def test_roles_have_names_in_the_rater_s_language_and_markdown_is_rendered() -> None:
    _, client, address = page_of(render_markdown=True)
    text = client.get(address, headers={"Accept-Language": "de"}).text
    assert {(item[0], item[1], item[2]) for item in ITEM.findall(text)} >= {("user", "de", "Nutzer")}
    assert "<code>code</code>" in text
    assert "<script>alert(1)" not in text


def test_a_message_s_markdown_ends_with_it() -> None:
    html = shown_text(Transcript(said("```\nopen", "next")), rendered=True)
    found = ITEM.findall(html.replace('<div class="scroll"', "<p").replace("</pre></div>", "</pre></p>"))
    assert [role for role, *_ in found] == ["user", "assistant"]
