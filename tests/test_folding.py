"""Folded templates say the same as plain ones, in every language; only what never changes is folded."""

from collections.abc import Iterator
from decimal import Decimal
from pathlib import Path

import pytest
from django.conf import settings
from django.template import Context, Engine, TemplateDoesNotExist
from django.template.backends.django import get_installed_libraries
from django.template.base import Node, NodeList
from django.utils import translation
from django.utils.safestring import mark_safe
from django.utils.translation import gettext_lazy

from config.folded_nodes import ConstantNode
from tests.factories import NOON

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


VALUES = ["a < b & \"c\" 'd'", mark_safe("<b>bold</b>"), 1234567, -3, True, None, 0.5, Decimal("1.50"), NOON, ["<i>"]]
LAZY = gettext_lazy("Rate")
PLACES = "{% load i18n %}{% for it in them %}{{ it }}|{% autoescape off %}{{ it }}{% endautoescape %}{% endfor %}"
WITH_VALUE = (
    "{% load i18n %}{% blocktranslate with place=at.place %}Pair {{ place }} is 100 % {{ own }}{% endblocktranslate %}"
)
TREE = "{{ node.name }}{% for node in node.within %}({% include 'page' %}){% endfor %}"
KNOWN = "{% load i18n %}{% blocktranslate trimmed with place=at.place %} Pair {{ place }} {% endblocktranslate %}"


@pytest.mark.parametrize(
    ("templates", "known"),
    [
        pytest.param({"page": PLACES}, {"them": [*VALUES, LAZY, lambda: "<u>"]}, id="values of every kind"),
        pytest.param({"page": "{{ a.b.c }}-{{ a.b|upper }}-{{ x|default:'<' }}"}, {"a": {"b": "<"}}, id="filters"),
        pytest.param({"page": WITH_VALUE}, {"at": {"place": "<1>"}, "own": "%s"}, id="a text with values"),
        pytest.param({"page": WITH_VALUE}, {"at": {}}, id="a text whose values are missing"),
        pytest.param({"page": KNOWN}, {"at": {"place": 1234}}, id="a text that is translated"),
        pytest.param(
            {
                "page": "{% load i18n %}{% for n in them %}{% blocktranslate count n=n %}{{ n }} pair{% plural %}"
                "{{ n }} pairs{% endblocktranslate %}{% endfor %}"
            },
            {"them": [1, 2]},
            id="a plural",
        ),
        pytest.param(
            {"page": "{% for it in them %}{% include 'part' with word=it %}{% endfor %}{{ word }}", "part": "<{{ word }}>"},
            {"them": ["a", "b"], "word": "&"},
            id="a part with a name of its own",
        ),
        pytest.param({"page": "{% include part %}", "one": "1{{ x }}"}, {"part": "one", "x": 2}, id="a part that varies"),
        pytest.param({"page": "{% include 'one' only %}", "one": "1{{ x }}"}, {"x": 2}, id="a part that sees nothing"),
        pytest.param({"page": TREE}, {"node": {"name": "a", "within": [{"name": "b"}]}}, id="a part within itself"),
        pytest.param(
            {
                "page": "{% extends 'middle' %}{% block b %}{{ block.super }}page {{ x }}{% endblock %}",
                "middle": "{% extends 'base' %}{% block b %}{{ block.super }}middle{% endblock %}",
                "base": "<{% block a %}a{% endblock %}{% if x %}{% block b %}b{% endblock %}{% endif %}>",
            },
            {"x": 2},
            id="a page upon a page upon a page",
        ),
        pytest.param({"page": "{% extends x %}{% block a %}1{% endblock %}", "one": "{% block a %}{% endblock %}"}, {"x": "one"}, id="upon one that varies"),
        pytest.param(
            {
                "page": "{% load i18n %}{% include 'part' %}{% language 'de' %}{% translate 'Rate' %}"
                "{% include 'part' %}{% endlanguage %}{% include 'part' %}{{ x }}",
                "part": "{% load i18n %}{% translate 'Studies' %}",
            },
            {},
            id="another language within",
        ),
        pytest.param({"page": "<form>{% csrf_token %}</form>{% csrf_token %}"}, {"csrf_token": "<t>"}, id="two forms"),
        pytest.param({"page": "<form>{% csrf_token %}</form>"}, {}, id="a form without a token"),
        pytest.param(
            {"page": "{% include 'part' only %}{% csrf_token %}", "part": "<form>{% csrf_token %}</form>"},
            {"csrf_token": "t"},
            id="a part without a token",
        ),
    ],
)  # fmt: skip
def test_a_folded_node_says_what_djangos_own_says(templates: dict[str, str], known: dict[str, object]) -> None:
    plain, folded = (
        engine(loader, templates) for loader in ("django.template.loaders.cached.Loader", "config.folding.Loader")
    )
    for language in [*LANGUAGES, LANGUAGES[0]]:
        with translation.override(language):
            expected = plain.get_template("page").render(Context(known))
            assert folded.get_template("page").render(Context(known)) == expected
            assert folded.get_template("page").render(Context(known, autoescape=False)) == plain.get_template(
                "page"
            ).render(Context(known, autoescape=False))
    assert expected


def test_each_page_has_its_own_token() -> None:
    template = engine("config.folding.Loader", {"page": "{% csrf_token %}{% csrf_token %}"}).get_template("page")
    for token in ("one", "another"):
        assert template.render(Context({"csrf_token": token})).count(f'value="{token}"') == 2


@pytest.mark.parametrize("page", ["{% include 'gone' %}", "{% extends 'gone' %}", "{% extends 'page' %}"])
def test_a_part_that_is_missing_is_told_each_time(page: str) -> None:
    template = engine("config.folding.Loader", {"page": page}).get_template("page")
    for _ in range(2):
        with pytest.raises(TemplateDoesNotExist):
            template.render(Context({}))


def test_pages_share_the_one_that_they_extend() -> None:
    pages = {name: "{% extends 'base' %}{% block a %}" + name + "{% endblock %}" for name in ("one", "two")}
    source = engine("config.folding.Loader", {**pages, "base": "<{% block a %}{% endblock %}>"})
    assert [source.get_template(name).render(Context({})) for name in pages] == ["<one>", "<two>"]
    first, second = (source.get_template(name).nodelist[0] for name in pages)
    assert first.parent is second.parent is source.get_template("base")  # type: ignore[attr-defined]
