"""What a web process loads before its first request, and for a rater: nothing that only judges and measures need."""

import os
import subprocess
import sys
from pathlib import Path

from django.urls import URLPattern, get_resolver

from annotation import urls
from annotation.lazy_urls import LazyView

ROOT = Path(__file__).resolve().parent.parent
HEAVY = ("numpy", "openai", "aiohttp", "pydantic", "nltk", "tokenizers", "analysis.encoders")
FOR_RATERS = """
from django.template.loader import get_template
from django.urls import resolve, reverse
assert resolve(reverse("annotation:hit", args=["key"])).url_name == "hit"
get_template("annotation/hit.html")
"""


def loaded_by(program: str, modules: tuple[str, ...]) -> str:
    """Run some lines in a process of their own after the web server's entry point; say which modules are loaded."""
    told = f"import sys, config.wsgi\n{program}\nprint([name for name in {modules} if name in sys.modules])"
    environment = {**os.environ, "DJANGO_SETTINGS_MODULE": "config.settings"}
    started = subprocess.run(
        [sys.executable, "-c", told], cwd=ROOT, env=environment, capture_output=True, text=True, check=True
    )
    return started.stdout.strip()


def test_web_process_starts_without_models_and_clients() -> None:
    assert loaded_by("", HEAVY) == "[]"


def test_raters_need_neither_the_researchers_pages_nor_the_api_nor_the_admin() -> None:
    elsewhere = (
        "judging.urls",
        "reporting.urls",
        "reporting.api.urls",
        "config.admin_urls",
        "annotation.views.batches",
    )
    assert loaded_by(FOR_RATERS, (*HEAVY, *elsewhere)) == "[]"


def test_the_list_of_installed_models_loads_nothing_that_speaks_to_models_elsewhere() -> None:
    program = "from annotation.separability_form import SeparabilityForm; SeparabilityForm().known_models()"
    assert loaded_by(program, ("openai", "aiohttp", "judging.services.embedding_models")) == "[]"


def test_addresses_loaded_later_are_found_and_written() -> None:
    program = """
from django.urls import resolve, reverse
from django.utils.translation import override
assert resolve("/admin/auth/user/").namespace == "admin"
for language in ("en", "de"):
    with override(language):
        assert reverse("admin:auth_user_changelist") == "/admin/auth/user/"
        assert reverse("annotation:batch", args=["news", 3]) == "/studies/news/batches/3/"
        assert reverse("api:study-list") == "/api/v1/studies/"
"""
    assert loaded_by(program, ("config.admin_urls", "reporting.api.urls", "judging.urls")) == str(
        ["config.admin_urls", "reporting.api.urls"]
    )


def test_views_loaded_later_are_there_under_their_names() -> None:
    later = [one for one in urls.urlpatterns if isinstance(one, URLPattern) and isinstance(one.callback, LazyView)]
    assert len(later) > 20
    for pattern in later:
        view = pattern.callback
        assert callable(view.__wrapped__), pattern.name  # each is decorated; an unknown name raises here


def test_every_namespace_can_be_asked_for_what_it_holds() -> None:
    resolver = get_resolver()
    for namespace in ("judging", "reporting", "api", "admin"):
        _, inside = resolver.namespace_dict[namespace]
        assert inside.reverse_dict, namespace
        assert inside.app_dict == {} == inside.namespace_dict, namespace
