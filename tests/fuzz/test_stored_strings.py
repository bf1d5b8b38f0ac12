"""Hostile strings in every stored text: every page, file and admin list opens, in a real browser, and none of them runs."""

from collections import deque
from collections.abc import Callable, Iterator
from typing import Any

import pytest
from django.apps import apps
from django.contrib import admin
from django.contrib.auth.models import User
from django.db import models
from django.db.models import Value
from django.db.models.functions import Concat
from django.test import Client
from django.urls import reverse
from playwright.sync_api import Page

from annotation.models import Batch, ComparisonTable, Instance, Study, Upload
from annotation.models.members import Role
from judging.models import Endpoint, Judge
from tests.every_table import fill_empty_tables
from tests.factories import add_instances, instance_rows
from tests.hostile import STRINGS
from tests.planted import plant_secrets
from tests.routes import ADMIN, routes, sent_to, values_of
from tests.whole_study import Whole, build_whole_study

# Texts that the program itself writes and reads: names of methods and settings, digests, versions, addresses of services.
INTERNAL = {
    *("method", "action", "request_id", "language", "question_key", "currency", "kind", "sha256", "arm", "tie_kind", "page"),
    *("software_version", "variant", "similarity", "model", "model_fingerprint", "dataset", "group", "texts_sha256", "digest"),
    *("measure_sha256", "executor", "key", "event_id", "text_sha256", "task", "base_url", "key_env", "parser", "filter_key"),
    *("tables_as", "input_file", "provider_id", "finish_reason", "prompt_version", "parser_version", "settings_key", "change"),
    *("query", "departed", "version", "template_version", "location", "answer", "token"),
}  # fmt: skip
# Names that stand in several tables, and bind their rows together: the same string in all of them.
NAMES = {
    "dataset": """<img src=x onerror=window.hostile=1>'" &a=1#{{ 7*7 }}""",
    "variant": "<svg onload=window.hostile=1>'\"",
}
READ_AS_PROMPTS = {("PromptFile", "text"), ("GenerationRun", "template")}
APPS = ("annotation", "judging", "reporting", "axes", "otp_static", "otp_totp")
MARK = "mine"  # what people, files and models wrote into JSON has it
WORDS_IN_JSON: dict[type[models.Model], dict[str, Any]] = {
    Study: {"criteria": [{"key": "style", "text": "mine question", "description": "mine description"}]},
    Instance: {"metadata": {"mine name": ["mine"]}},
    ComparisonTable: {"made_by": {"judge": "mine"}},
    Endpoint: {"headers": {"X-Mine": "mine"}},
    Judge: {"params": {"stop": ["mine"]}},
}


class Strings:
    """Gives each string as rarely as possible, and knows which were used."""

    def __init__(self) -> None:
        self.waiting, self.used = deque(STRINGS), set[str]()

    def take(self, longest: int | None = None) -> str:
        """Return the next one that is short enough."""
        text = next(text for text in self.waiting if longest is None or len(text) <= longest)
        self.waiting.remove(text)
        self.waiting.append(text)
        self.used.add(text)
        return text

    def into(self, value: Any) -> Any:
        """Return a JSON value with the texts and names that have the mark replaced."""
        if isinstance(value, dict):
            return {self.into(name): self.into(one) for name, one in value.items()}
        if isinstance(value, list):
            return [self.into(one) for one in value]
        return self.take() if isinstance(value, str) and MARK in value else value


def fields_of(kind: Any) -> Iterator[tuple[type[models.Model], Any]]:
    """Yield the fields of a type, except those of slugs and choices."""
    for app in APPS:
        for model in apps.get_app_config(app).get_models():
            for field in model._meta.concrete_fields:
                if isinstance(field, kind) and not (
                    isinstance(field, models.SlugField) or field.choices or field.unique or field.generated
                ):
                    yield model, field


def text_fields() -> Iterator[tuple[type[models.Model], Any]]:
    """Yield every text field in which people, files and models write."""
    for model, field in fields_of(models.TextField | models.CharField):
        if field.name not in INTERNAL | NAMES.keys() and (model.__name__, field.name) not in READ_AS_PROMPTS:
            yield model, field


def fill() -> set[str]:
    """Put the strings, as they fit, into the rows that are there; return those that were used."""
    strings = Strings()
    for model, field in text_fields():
        keys = list(model._base_manager.order_by("pk").values_list("pk", flat=True))
        assert keys, f"{model.__name__}.{field.name} has no row for a string"
        for pk in keys:
            model._base_manager.filter(pk=pk).update(**{field.name: strings.take(field.max_length)})
    for model, field in fields_of(models.JSONField):
        for pk, value in list(model._base_manager.order_by("pk").values_list("pk", field.name)):
            model._base_manager.filter(pk=pk).update(**{field.name: strings.into(value)})
    for model, field in fields_of(models.CharField):
        if field.name in NAMES:
            model._base_manager.exclude(**{field.name: ""}).update(**{field.name: NAMES[field.name]})
    for name, field in READ_AS_PROMPTS:
        model = apps.get_model("judging", name)
        model._base_manager.update(**{field: Concat(field, Value(f" {NAMES['dataset']}"))})
    return strings.used


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


def test_no_stored_string_breaks_a_page_or_runs_and_no_page_holds_a_secret(
    request: pytest.FixtureRequest, transactional_db: None, monkeypatch: pytest.MonkeyPatch
) -> None:
    whole = build_whole_study("mine")
    secrets = plant_secrets(whole.people[Role.RESEARCHER], monkeypatch)
    add_instances(whole.study, instance_rows(instances=20, prefix="more"))
    for model, values in WORDS_IN_JSON.items():
        model._base_manager.update(**values)
    root = User.objects.create_superuser("root")
    for route in routes():
        values_of(route, whole)  # makes rows of some tables
    Upload.objects.update(
        names=["mine.jsonl"], bad_lines=[{"number": 1, "code": "no_rows", "values": {"what": "mine"}, "file": ""}]
    )
    fill_empty_tables()
    assert fill() == set(STRINGS)
    whole.batch = Batch.objects.get(pk=whole.batch.pk)  # by the names that it has now
    pages: dict[str, list[str]] = {"root": [], whole.people[Role.ANNOTATOR].username: []}
    for name, found in pages.items():
        client = Client(raise_request_exception=False)
        client.force_login(root if name == "root" else User.objects.get(username=name))
        for address in addresses(whole):
            answer = client.get(address, follow=True)
            assert answer.status_code < 500, f"{address}: {answer.status_code}"
            content = b"".join(answer.streaming_content) if answer.streaming else answer.content  # type: ignore[attr-defined]
            answer.close()
            assert [one for one in secrets if one.encode() in content] == [], address
            if answer.headers["Content-Type"].startswith("text/html") and answer.status_code == 200:
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
