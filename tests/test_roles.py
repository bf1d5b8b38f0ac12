"""Every route × role: what tests/data/routes.md says is what comes of it, and no address is without its row."""

import logging
import re
from collections import defaultdict
from collections.abc import Iterator
from contextlib import contextmanager, nullcontext
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest
from django.conf import settings
from django.contrib.auth.models import User
from django.db import transaction
from django.template.base import Template
from django.test import Client

from annotation.members.signed_in import NOT_RESEARCHERS
from annotation.models import AuditEntry
from annotation.models.members import Role
from reporting.findings.data.inputs import Filters
from reporting.findings.snapshots import snapshot_of
from tests.planted import plant_secrets
from tests.routes import Route, ask, body_of, carry, outcome, routes, session_of, values_of
from tests.whole_study import ROLES, Whole, build_whole_study, member

pytestmark = pytest.mark.slow

DOCUMENT = Path(__file__).resolve().parent / "data" / "routes.md"
COLUMNS = ("signed out", "annotator", "researcher", "study admin", "site admin", "other group")
ROW = re.compile(r"^\| `([\w:-]+)` \| `([^`]+)` \| ([A-Z, ]+) \|(.*)\|$", re.M)
OF_ONE_GROUP = ("annotator", "researcher", "study admin")
THEIRS = "zanzibar"
NAMES_A_ROW = {"pk", "key", "run_id", "judgment_id", "prompt_id", "channel_key"}
HTMX = {"HX-Request": "true", "HX-Target": "separability"}  # a view reads one of them: the study's page the target
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


@dataclass
class Sweep:
    """What came of requesting every route by every method as every role."""

    client: Client
    whole: Whole
    sessions: dict[str, str]
    table: Table = field(default_factory=dict)
    audited: set[tuple[str, str]] = field(default_factory=set)
    told: list[str] = field(default_factory=list)  # requests whose response names the other group
    secrets: list[str] = field(default_factory=list)
    spilled: set[str] = field(default_factory=set)  # requests whose response holds one of them
    raw: dict[str, bool] = field(default_factory=dict)  # pages that show a text with markup, and whether they escape it
    misplaced: dict[str, int] = field(default_factory=dict)  # outcomes for another study's row below one's own study
    parts: int = 0
    opened: dict[str, str] = field(default_factory=dict)  # what a browser sees at an address that takes no GET
    pages: dict[tuple[str, str], str] = field(default_factory=dict)  # what it sees where it is led to

    def answer(self, route: Route, method: str, column: str, **more: Any) -> Any:
        """Request an address as a role, and look in the response for the other group where it must not be."""
        answer: Any = ask(self.client, route, method, self.whole, self.sessions[column], **more)
        whole = f"{answer.headers} {body_of(answer)}"
        if column in OF_ONE_GROUP and THEIRS in whole:
            self.told.append(f"{method} {route.name} {column} {more}")
        self.spilled.update(f"{method} {route.name} {column}: {one}" for one in self.secrets if one in whole)
        page = body_of(answer)
        if answer.headers.get("Content-Type", "").startswith("text/html") and re.search("(&gt;|>)raw", page):
            self.raw[f"{method} {route.name} {column} {more}"] = "<i>raw" not in page and "</textarea><i" not in page
        return answer

    def page_at(self, address: str, column: str) -> str:
        """Open a page as a role, once; return its status and the addresses that lead to it."""
        if (address, column) not in self.pages:
            with unrendered(), transaction.atomic():
                carry(self.client, self.sessions[column])
                seen: Any = self.client.get(address, follow=True)
                transaction.set_rollback(True)
            self.pages[address, column] = f"{seen.status_code} {[address, *(one for one, _ in seen.redirect_chain)]}"
        return self.pages[address, column]


@pytest.fixture(scope="module")
def sweep(module_rows: None) -> Sweep:
    """Request everything once; the stranger holds every role there is, in another group."""
    with pytest.MonkeyPatch.context() as patch:
        # A session that is all in its cookie needs no row to be read at each request, and none comes to it by another.
        patch.setattr(settings, "SESSION_ENGINE", "django.contrib.sessions.backends.signed_cookies")
        whole, other = build_whole_study("mine"), build_whole_study(THEIRS)
        secrets = plant_secrets(whole.people[Role.RESEARCHER], patch)
        people: dict[str, User | None] = {
            "signed out": None,
            **{role.replace("-", " "): whole.people[role.value] for role in ROLES},
            "site admin": User.objects.create_superuser("root", password="a long enough one"),
            "other group": member("stranger", *ROLES, group=other.group),
        }
        made = Sweep(Client(), whole, {column: session_of(people[column]) for column in COLUMNS}, secrets=secrets)
        patch.setattr(AuditEntry.objects, "create", lambda **row: made.audited.add((row["action"], row["method"])))
        patch.setattr(logging.getLogger("django.request"), "disabled", True)  # every refusal would be a line
        snapshot_of(whole.study, Filters())  # else each request of the findings would compute them
        for route in routes():
            for method in route.methods:
                request_as_every_role(made, route, method)
                if values := misplaced_values(route, whole, other):
                    answer = ask(made.client, route, method, whole, made.sessions["site admin"], values=values)
                    made.misplaced[f"{method} {route.name} {values}"] = answer.status_code
        return made


def misplaced_values(route: Route, whole: Whole, other: Whole) -> dict[str, Any] | None:
    """Return what names a row of another study in an address below one's own, where an address names a row."""
    if not route.address.startswith("/studies/<slug>/") or not NAMES_A_ROW & {*route.arguments}:
        return None
    return {**values_of(route, other), "slug": whole.study.slug}


def request_as_every_role(sweep: Sweep, route: Route, method: str) -> None:
    """Request a route by a method as every role; the method exists unless an allowed role gets a 405.

    A page is rendered for study admins and annotators, and for the other roles if study admins may not see it:
    a request is allowed or refused before. What study admins see is asked for as a part, too.
    """
    answers: dict[str, str] = {}
    for column in ("study admin", *(one for one in COLUMNS if one != "study admin")):
        with unrendered() if answers.get("study admin") == "ok" and column != "annotator" else nullcontext():
            answer = sweep.answer(route, method, column)
        answers[column] = outcome(answer)
        if answers[column] == "405":
            if method == "GET" and "/api/" not in route.address:
                led: Any = sweep.answer(route, method, column, headers={"Accept": "text/html"})
                sweep.opened[route.name] = sweep.page_at(led.headers.get("Location", ""), column)
            return
        if column == "study admin" and (method, answer.status_code) == ("GET", 200) and "/api/" not in route.address:
            sweep.parts += outcome(sweep.answer(route, method, column, headers=HTMX)) == "ok"
    sweep.table[route.name, method] = tuple(answers[column] for column in COLUMNS)


@contextmanager
def unrendered() -> Iterator[None]:
    """Leave templates empty."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(Template, "render", lambda _template, _context: "")
        yield


def test_a_browser_at_an_address_that_takes_no_get_is_led_to_the_page_above(sweep: Sweep) -> None:
    assert len(sweep.opened) > 20
    led = ("200 ['/", "403 ['/endpoints/")  # an endpoint's page is for site admins
    assert {name: seen for name, seen in sweep.opened.items() if not seen.startswith(led)} == {}
    assert sweep.opened["annotation:separability"] == "200 ['/studies/mine-study/']"


def test_every_route_does_for_every_role_what_the_table_says(sweep: Sweep) -> None:
    every = {route.name: route for route in routes()}
    table, _ = documented()
    wrong = {key: outcomes for key, outcomes in sweep.table.items() if table.get(key) != outcomes}
    gone = sorted(set(table) - set(sweep.table))
    assert not wrong, (
        f"tests/data/routes.md should have these rows, if that is what is meant:\n{lines_of(wrong, every)}"
    )
    assert not gone, f"tests/data/routes.md has rows of what isn't there: {gone}"
    changing = {
        (name, method) for name, method in sweep.table if method != "GET" and not is_raters(every[name].address)
    }
    assert changing - sweep.audited == set()
    assert len(changing) > 100


def test_no_page_part_download_or_row_shows_anything_of_another_group(sweep: Sweep) -> None:
    assert sweep.told == []
    assert sweep.parts > 60


def test_no_page_takes_a_text_for_markup(sweep: Sweep) -> None:
    assert [name for name, is_escaped in sweep.raw.items() if not is_escaped] == []
    assert len(sweep.raw) > 40


def test_no_row_of_another_study_is_found_below_ones_own(sweep: Sweep) -> None:
    assert {name: status for name, status in sweep.misplaced.items() if status not in (404, 405)} == {}
    assert len(sweep.misplaced) > 40


def test_no_response_holds_a_secret(sweep: Sweep) -> None:
    assert sweep.spilled == set()
    assert len(sweep.secrets) > 9


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
