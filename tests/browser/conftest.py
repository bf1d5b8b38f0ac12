"""A real headless Chromium against the test server, or against the server that people use."""

from collections.abc import Callable, Iterator
from typing import Any

import pytest
from django.conf import settings as django_settings
from django.contrib.auth import get_user_model
from playwright.sync_api import Browser, BrowserContext, Page, expect, sync_playwright

from annotation.members.accounts import grant_role, login_link
from tests.browser import walk
from tests.browser.real_server import RealServer
from tests.factories import signed_in

expect.set_options(timeout=walk.PATIENCE)


@pytest.fixture(scope="package")
def chromium(chromium_options: dict[str, Any]) -> Iterator[Browser]:
    """One browser for all tests of this folder; each opens contexts of its own.

    Not one a session: Playwright keeps an event loop in this thread, under which Django refuses other tests' queries.
    """
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(**chromium_options)
        yield browser
        browser.close()


@pytest.fixture
def open_at(chromium: Browser, transactional_db: None) -> Iterator[Callable[..., Page]]:
    """Return `open_at(address, name, *roles, **context options)`: an empty page of a browser that is signed in.

    by_link : sign in on the pages of a one-time link, and stay on the page that it leads to

    An error that a script of any page does not catch fails the test.
    """
    contexts: list[BrowserContext] = []
    errors: list[str] = []

    def open_page(address: str, name: str, *roles: str, by_link: bool = False, **options: Any) -> Page:
        for role in roles:
            grant_role(username=name, role=role)
        context = walk.open_context(chromium, base_url=address, **options)
        contexts.append(context)
        context.on("weberror", lambda error: errors.append(str(error.error)))
        user = get_user_model().objects.get(username=name)
        page = context.new_page()
        if by_link:
            walk.sign_in(page, login_link(user=user, base_url=address))
        else:
            client = signed_in(user)
            session = client.cookies[django_settings.SESSION_COOKIE_NAME].value
            context.add_cookies([{"name": django_settings.SESSION_COOKIE_NAME, "value": session, "url": address}])
        return page

    yield open_page
    for context in contexts:
        context.close()
    assert errors == []


@pytest.fixture
def open_as(open_at: Callable[..., Page], live_server: Any, settings: Any) -> Callable[..., Page]:
    """Return `open_as(name, *roles, **context options)`: a signed-in page of the test server."""
    settings.TASKS = {"default": {"BACKEND": "django_tasks.backends.immediate.ImmediateBackend"}}

    def open_page(name: str, *roles: str, **options: Any) -> Page:
        return open_at(live_server.url, name, *roles, **options)

    return open_page


@pytest.fixture(scope="package")
def real_server(django_db_setup: None, tmp_path_factory: pytest.TempPathFactory) -> Iterator[RealServer]:
    """One server: `serve` with everything that lies between Django and the wire.

    It works on the database of the tests, so what a test makes through services is there at once.
    """
    server = RealServer(tmp_path_factory.mktemp("server"))
    server.start()
    yield server
    server.stop()
