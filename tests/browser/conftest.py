"""A real headless Chromium against the test server."""

from collections.abc import Callable, Iterator
from typing import Any

import pytest
from django.contrib.auth import get_user_model
from playwright.sync_api import Browser, BrowserContext, Page, sync_playwright

from annotation.services.accounts import grant_role, login_link


@pytest.fixture(scope="module")
def chromium(chromium_options: dict[str, Any]) -> Iterator[Browser]:
    """One browser a file; each test opens contexts of its own.

    Not one a session: Playwright keeps an event loop in this thread, under which Django refuses other tests' queries.
    """
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(**chromium_options)
        yield browser
        browser.close()


@pytest.fixture
def open_as(
    chromium: Browser, live_server: Any, transactional_db: None, settings: Any
) -> Iterator[Callable[..., Page]]:
    """Return `open_as(name, *roles, **context options)`: a page signed in by a one-time link."""
    settings.TASKS = {"default": {"BACKEND": "django_tasks.backends.immediate.ImmediateBackend"}}
    contexts: list[BrowserContext] = []

    def open_page(name: str, *roles: str, **options: Any) -> Page:
        for role in roles:
            grant_role(username=name, role=role)
        context = chromium.new_context(base_url=live_server.url, **options)
        contexts.append(context)
        page = context.new_page()
        page.goto(login_link(user=get_user_model().objects.get(username=name), base_url=live_server.url))
        return page

    yield open_page
    for context in contexts:
        context.close()
