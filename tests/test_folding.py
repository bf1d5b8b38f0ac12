"""Folded templates say the same as plain ones, in every language; only what never changes is folded."""

from collections.abc import Iterator
from pathlib import Path

import pytest
from django.conf import settings
from django.template import Context, Engine, TemplateDoesNotExist
from django.template.backends.django import get_installed_libraries
from django.template.base import Node, NodeList
from django.utils import translation

from config.folding import ConstantNode

LOADERS = [f"django.template.loaders.{kind}.Loader" for kind in ("filesystem", "app_directories")]
FOLDER = Path(settings.BASE_DIR) / "templates"
NAMES = sorted(str(path.relative_to(FOLDER)) for path in FOLDER.rglob("*.html"))
LANGUAGES = [code for code, _name in settings.LANGUAGES]


def engine(loader: str, own: dict[str, str] | None = None) -> Engine:
    inner: list[object] = [("django.template.loaders.locmem.Loader", own)] if own else list(LOADERS)
    built_in = ["template_partials.templatetags.partials"]
    return Engine(
        dirs=[str(FOLDER)],
        loaders=[("template_partials.loader.Loader", [(loader, inner)])],
        libraries=get_installed_libraries(),
        builtins=[*Engine.default_builtins, *built_in],
    )


def said(source: Engine, name: str, language: str) -> str:
    """Render a template with nothing known, or say how that fails."""
    with translation.override(language):
        try:
            return source.get_template(name).render(Context({}))
        except TemplateDoesNotExist:
            raise
        except Exception as error:
            return f"{type(error).__name__}: {error}"


@pytest.fixture(scope="module")
def both() -> tuple[Engine, Engine]:
    return engine("django.template.loaders.cached.Loader"), engine("config.folding.Loader")


@pytest.mark.parametrize("name", NAMES)
def test_a_folded_template_says_what_the_plain_one_says(name: str, both: tuple[Engine, Engine]) -> None:
    plain, folded = both
    for language in [*LANGUAGES, LANGUAGES[0]]:  # the first once more: nothing of another language was kept
        assert said(folded, name, language) == said(plain, name, language)


def nodes_within(nodes: NodeList) -> Iterator[Node]:
    for node in nodes:
        yield node
        for name in node.child_nodelists:
            yield from nodes_within(getattr(node, name, None) or NodeList())


def test_the_page_of_a_hit_has_far_fewer_nodes(both: tuple[Engine, Engine]) -> None:
    plain, folded = (list(nodes_within(source.get_template("annotation/hit.html").nodelist)) for source in both)
    assert len(folded) < 0.7 * len(plain)
    assert any(isinstance(node, ConstantNode) for node in folded)


@pytest.mark.parametrize(
    "varying",
    [
        pytest.param("{{ word }}", id="a variable"),
        pytest.param("{% load i18n %}{% translate word %}", id="the translation of a variable"),
        pytest.param("{% load i18n %}{% translate 'Rate' as a %}{{ word }}{{ a }}", id="a translation that is named"),
        pytest.param("{% load static %}{% static word %}", id="the address of a file that is a variable"),
        pytest.param("{% if word == 'one' %}Yes{% else %}No{% endif %}", id="a condition"),
        pytest.param("{% for letter in word %}-{% empty %}nothing{% endfor %}", id="a loop"),
    ],
)
def test_what_varies_is_rendered_anew_each_time(varying: str) -> None:
    template = engine("config.folding.Loader", {"page": varying}).get_template("page")
    first, second = (template.render(Context({"word": word})) for word in ("one", ""))
    assert first != second


def test_a_constant_is_rendered_once_for_each_language(monkeypatch: pytest.MonkeyPatch) -> None:
    page = "{% load i18n %}<p>{% translate 'Rate' %} {% translate 'Studies' %}</p>"
    template = engine("config.folding.Loader", {"page": page}).get_template("page")
    [node] = template.nodelist
    assert isinstance(node, ConstantNode)
    for language in [*LANGUAGES, *LANGUAGES]:
        with translation.override(language):
            template.render(Context({}))
    assert sorted(map(str, node.rendered)) == sorted(LANGUAGES)
    assert len(set(node.rendered.values())) == len(LANGUAGES)
