"""Hostile strings in every stored text: every page, file and admin list opens, in a real browser, and none of them runs."""

from collections import deque
from collections.abc import Callable, Iterator

import pytest
from django.apps import apps
from django.contrib import admin
from django.contrib.auth.models import User
from django.db import models
from django.test import Client
from django.urls import reverse
from playwright.sync_api import Page

from annotation.models.members import Role
from tests.factories import add_instances, instance_rows
from tests.hostile import STRINGS
from tests.routes import ADMIN, routes, sent_to, values_of
from tests.whole_study import Whole, build_whole_study

# Texts that the program itself writes and reads: names of methods and settings, digests, versions, addresses of services.
INTERNAL = {
    *("method", "action", "request_id", "language", "question_key", "currency", "kind", "sha256", "arm", "tie_kind", "page"),
    *("software_version", "variant", "similarity", "model", "model_fingerprint", "dataset", "group", "texts_sha256", "digest"),
    *("measure_sha256", "executor", "key", "event_id", "text_sha256", "task", "base_url", "key_env", "parser", "filter_key"),
    *("tables_as", "input_file", "provider_id", "finish_reason", "prompt_version", "parser_version", "settings_key", "change"),
    *("query", "departed", "template", "template_version", "location", "answer", "external_id"),
}  # fmt: skip
READ_AS_PROMPTS = {"PromptFile"}


def text_fields() -> Iterator[tuple[type[models.Model], models.Field]]:
    """Yield every field in which people, files and models write."""
    for app in ("annotation", "judging", "reporting"):
        for model in apps.get_app_config(app).get_models():
            for field in model._meta.concrete_fields:
                is_text = isinstance(field, models.TextField | models.CharField) and not isinstance(
                    field, models.SlugField
                )
                if is_text and not (
                    field.choices or field.unique or field.name in INTERNAL or model.__name__ in READ_AS_PROMPTS
                ):
                    yield model, field


def fill() -> set[str]:
    """Put the strings, as they fit, into the rows that are there, each as rarely as possible; return those that were used."""
    waiting, used = deque(STRINGS), set()
    for model, field in text_fields():
        for pk in list(model._base_manager.order_by("pk").values_list("pk", flat=True)):
            text = next(text for text in waiting if field.max_length is None or len(text) <= field.max_length)
            waiting.remove(text)
            waiting.append(text)
            used.add(text)
            model._base_manager.filter(pk=pk).update(**{field.name: text})
    return used


def addresses(whole: Whole) -> Iterator[str]:
    """Yield every address that answers a GET, and those of Django's admin."""
    for route in routes():
        if route.name != ADMIN and "GET" in route.methods and "logout" not in route.name:
            yield reverse(route.name, kwargs=values_of(route, whole), query=sent_to(route, whole, "GET"))
    for model in admin.site._registry:
        place = f"admin:{model._meta.app_label}_{model._meta.model_name}"
        yield reverse(f"{place}_changelist")
        if (row := model._base_manager.first()) is not None:
            yield reverse(f"{place}_change", args=[row.pk])


def test_no_stored_string_breaks_a_page_or_runs(request: pytest.FixtureRequest, transactional_db: None) -> None:
    whole = build_whole_study("mine")
    add_instances(whole.study, instance_rows(instances=20, prefix="more"))
    root = User.objects.create_superuser("root")
    assert fill() == set(STRINGS)
    pages: dict[str, list[str]] = {"root": [], whole.people[Role.ANNOTATOR].username: []}
    for name, found in pages.items():
        client = Client(raise_request_exception=False)
        client.force_login(root if name == "root" else User.objects.get(username=name))
        for address in addresses(whole):
            answer = client.get(address, follow=True)
            assert answer.status_code < 500, f"{address}: {answer.status_code}"
            if answer.streaming:
                b"".join(answer.streaming_content)  # type: ignore[attr-defined]
            answer.close()
            if answer.headers["Content-Type"].startswith("text/html") and answer.status_code < 400:
                found.append(address)
    assert len(pages["root"]) > 80

    # The browser's event loop, under which no further request is made in this thread, begins here.
    open_as: Callable[..., Page] = request.getfixturevalue("open_as")
    browsers = {name: open_as(name) for name in pages}
    for name, page in browsers.items():
        page.on("dialog", lambda dialog: pytest.fail(f"a page asks: {dialog.message}"))
        for address in pages[name]:
            page.goto(address, wait_until="load")
            assert page.evaluate("typeof window.hostile") == "undefined", address
            assert page.evaluate("location.hostname") == "localhost" or "127.0.0.1" in page.url, page.url
