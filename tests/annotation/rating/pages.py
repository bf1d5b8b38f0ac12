"""Walking through a rater's pages as a browser does: signing in, forms, votes."""

from html.parser import HTMLParser
from typing import Any

from django.test import Client

from annotation.models import Assignment, Study
from tests.factories import make_annotator, signed_in

HTMX = {"HX-Request": "true"}


class Forms(HTMLParser):
    """Reads the pairs' forms of a page: key → its radio inputs, and the checked one."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.pairs: dict[str, dict[str, Any]] = {}
        self.submits = 0
        self._key = ""
        self.feed(text)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        given = dict(attrs)
        if tag == "form":
            self._key = given.get("data-pair") or ""
            if self._key:
                self.pairs[self._key] = {
                    "action": given["action"],
                    "method": given["method"],
                    "choices": [],
                    "checked": None,
                }
        elif tag == "input" and given.get("type") == "radio" and self._key:
            self.pairs[self._key]["choices"].append(given["value"])
            if "checked" in given:
                self.pairs[self._key]["checked"] = given["value"]
        elif tag == "button" and given.get("data-action") == "submit":
            self.submits += 1


def at_hit(study: Study, name: str = "rater") -> tuple[Client, str, Assignment]:
    """Sign in, follow /rate/ and return the HIT's address."""
    client = signed_in(make_annotator(study, name))
    address = client.get("/rate/").headers["Location"]
    return client, address, Assignment.objects.get(key=address.split("/")[-2])


def send(client: Client, address: str, what: str, **fields: object) -> Any:
    """Post to a HIT as its page does by htmx."""
    return client.post(f"{address}{what}/", {key: str(value) for key, value in fields.items()}, headers=HTMX)


def all_rated(client: Client, address: str, choice: str = "left") -> list[str]:
    """Vote on every pair of a HIT; returns the pairs' keys."""
    keys = list(Forms(client.get(address).text).pairs)
    for key in keys:
        assert client.post(f"{address}vote/", {"pair_key": key, "choice": choice}).status_code == 302
    return keys
