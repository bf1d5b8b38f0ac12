"""Every route × role: what docs/roles.md says is what comes of it, and no address is without its row."""

import logging
import re
from collections import defaultdict
from collections.abc import Iterator
from contextlib import contextmanager, nullcontext
from pathlib import Path

import pytest
from django.contrib.auth.models import User
from django.template.base import Template
from django.test import Client

from annotation.members.audit import NOT_RESEARCHERS
from annotation.models import AuditEntry
from reporting.findings.data.inputs import Filters
from reporting.findings.snapshots import snapshot_of
from tests.routes import Route, ask, outcome, routes, session_of
from tests.whole_study import ROLES, Whole, build_whole_study, member

pytestmark = pytest.mark.slow

DOCUMENT = Path(__file__).resolve().parent.parent / "docs" / "roles.md"
COLUMNS = ("signed out", "annotator", "researcher", "study admin", "site admin", "other group")
ROW = re.compile(r"^\| `([\w:-]+)` \| `([^`]+)` \| ([A-Z, ]+) \|(.*)\|$", re.M)
# Sent by a platform, which signs what it sends and has no cookie of ours.
WITHOUT_CSRF = {"annotation:prolific-webhook"}

Table = dict[tuple[str, str], tuple[str, ...]]


def documented() -> tuple[Table, dict[str, str]]:
    """Read the table: (route, method) → outcomes by column; and the address that each route is said to have."""
    table: Table = {}
    addresses = {}
    for name, address, methods, cells in ROW.findall(DOCUMENT.read_text(encoding="utf-8")):
        addresses[name] = address
        for method in methods.split(", "):
            assert (name, method) not in table, f"two rows for {method} {name}"
            table[name, method] = tuple(cell.strip() for cell in cells.split("|"))
    return table, addresses


def is_raters(address: str) -> bool:
    """Tell whether an address is one of raters, platforms or signing in, whose requests have records of their own."""
    return address.startswith(NOT_RESEARCHERS)


def lines_of(table: Table, every: dict[str, Route]) -> str:
    """Write rows as the document has them, methods with the same outcomes on one line."""
    grouped: dict[tuple[str, tuple[str, ...]], list[str]] = defaultdict(list)
    for (name, method), outcomes in table.items():
        grouped[name, outcomes].append(method)
    return "\n".join(
        f"| `{name}` | `{every[name].address}` | {', '.join(methods)} | {' | '.join(outcomes)} |"
        for (name, outcomes), methods in grouped.items()
    )


@pytest.fixture
def whole(db: None) -> Whole:
    return build_whole_study("mine")


@pytest.fixture
def sessions(whole: Whole) -> dict[str, str]:
    """A signed-in browser of every role; the stranger holds every role there is, in another group."""
    other = build_whole_study("theirs")
    people: dict[str, User | None] = {
        "signed out": None,
        **{role.replace("-", " "): whole.people[role.value] for role in ROLES},
        "site admin": User.objects.create_superuser("root", password="a long enough one"),
        "other group": member("stranger", *ROLES, group=other.group),
    }
    return {column: session_of(people[column]) for column in COLUMNS}


@contextmanager
def unrendered() -> Iterator[None]:
    """Leave templates empty: a request is allowed or refused before. The wall between groups renders pages as other roles."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(Template, "render", lambda _template, _context: "")
        yield


def found(client: Client, route: Route, whole: Whole, sessions: dict[str, str]) -> Table:
    """Request a route by every method as every role; a method exists unless an allowed role gets a 405."""
    table: Table = {}
    for method in route.methods:
        answers = {"site admin": outcome(ask(client, route, method, whole, sessions["site admin"]))}
        if answers["site admin"] == "405":
            continue
        with unrendered() if answers["site admin"] == "ok" else nullcontext():
            for column in COLUMNS:
                if column not in answers:
                    answers[column] = outcome(ask(client, route, method, whole, sessions[column]))
        if "405" not in answers.values():
            table[route.name, method] = tuple(answers[column] for column in COLUMNS)
    return table


def test_every_route_does_for_every_role_what_the_table_says(
    client: Client,
    whole: Whole,
    sessions: dict[str, str],
    caplog: pytest.LogCaptureFixture,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    audited: set[tuple[str, str]] = set()
    monkeypatch.setattr(AuditEntry.objects, "create", lambda **row: audited.add((row["action"], row["method"])))
    caplog.set_level(logging.CRITICAL, logger="django.request")  # every refusal would be a line of the report
    every = {route.name: route for route in routes()}
    table, _ = documented()
    snapshot_of(whole.study, Filters())  # else each request of the findings would compute them
    seen: Table = {}
    for route in every.values():
        seen |= found(client, route, whole, sessions)

    wrong = {key: outcomes for key, outcomes in seen.items() if table.get(key) != outcomes}
    gone = sorted(set(table) - set(seen))
    assert not wrong, f"docs/roles.md should have these rows, if that is what is meant:\n{lines_of(wrong, every)}"
    assert not gone, f"docs/roles.md has rows of what isn't there: {gone}"
    changing = {(name, method) for name, method in seen if method != "GET" and not is_raters(every[name].address)}
    assert changing - audited == set()
    assert len(changing) > 100


def test_every_route_has_a_name_and_a_row_with_its_address() -> None:
    every = {route.name: route.address for route in routes()}
    _, addresses = documented()
    assert len(every) == len(routes()) > 60
    assert addresses == every


def test_pages_of_a_study_are_closed_to_users_outside_it() -> None:
    table, addresses = documented()
    pages = {key: row for key, row in table.items() if addresses[key[0]].startswith("/studies/<slug>/")}
    assert len(pages) > 30
    for key, row in pages.items():
        got = dict(zip(COLUMNS, row, strict=True))
        assert (got["signed out"], got["annotator"], got["other group"]) == ("login", "404", "404"), key
        assert got["site admin"] == "ok", key
        assert got["study admin"] in ("ok", "403"), key


def test_hits_are_open_to_their_annotator_only() -> None:
    table, addresses = documented()
    pages = {key: row for key, row in table.items() if addresses[key[0]].startswith("/rate/hit/")}
    assert len(pages) > 8
    for (name, method), row in pages.items():
        got = dict(zip(COLUMNS, row, strict=True))
        assert (got.pop("signed out"), got.pop("annotator")) == ("login", "ok"), name
        # A form's address that is opened again redirects to the HIT, which is a 404 for them.
        leads_back = method == "GET" and (name, "POST") in pages and name != "annotation:return"
        assert set(got.values()) == ({"ok"} if leads_back else {"404"}), (name, method)


def test_the_api_shows_strangers_none_of_a_groups_rows() -> None:
    table, addresses = documented()
    api = {key: row for key, row in table.items() if addresses[key[0]].startswith("/api/v1/")}
    details = {key: row for key, row in api.items() if "<" in addresses[key[0]]}
    assert len(details) > 15
    for key, row in details.items():
        got = dict(zip(COLUMNS, row, strict=True))
        assert (got["signed out"], got["annotator"]) == ("401", "403"), key
        assert got["other group"] in ("403", "404"), key


def test_pages_of_groups_are_for_those_in_them() -> None:
    table, addresses = documented()
    pages = {key: row for key, row in table.items() if addresses[key[0]].startswith("/groups/<slug>/")}
    assert len(pages) > 4
    for key, row in pages.items():
        got = dict(zip(COLUMNS, row, strict=True))
        assert (got["signed out"], got["annotator"], got["other group"]) == ("login", "404", "404"), key


def test_forms_are_guarded_against_other_sites() -> None:
    views = {route.name: route.callback for route in routes() if not hasattr(route.callback, "cls")}
    without = {name for name, view in views.items() if getattr(view, "csrf_exempt", False)}
    assert without <= WITHOUT_CSRF
    assert len(views) > 60
