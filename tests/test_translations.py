"""The catalogues are complete and true, and every text of a page goes through them."""

import re
from pathlib import Path

import pytest
from django import forms
from django.conf import settings
from django.utils.functional import Promise

import annotation.members.mail_views
import annotation.members.second_factor_views
import annotation.rating.forms
import annotation.recruitment.accounts
from tools import messages

ROOT = Path(__file__).resolve().parent.parent
RATERS_ROOMS = {"rating", "privacy"}
TEMPLATES = [
    path
    for path in sorted((ROOT / "templates").rglob("*.html"))
    if path.parent.name in RATERS_ROOMS or re.search(r"{% load [\w ]*\bi18n\b", path.read_text(encoding="utf-8"))
]
# Names and abbreviations that are the same in every language.
NAMES = {"Tandem", "HIT", "UTC", "PNG", "JSON", "Lines", "CSV", "LaTeX", "Vega", "Lite"}
HEARD = "aria-label|title|alt|placeholder"  # attributes whose values are for people


@pytest.fixture(scope="module")
def found() -> messages.Texts:
    return messages.collect()


@pytest.mark.slow
def test_every_language_on_offer_is_complete_right_and_compiled(found: messages.Texts) -> None:
    assert [line for language in messages.languages() for line in messages.problems(ROOT, language, found)] == []


def test_each_language_on_offer_has_its_catalogue_and_the_other_way_round() -> None:
    assert sorted(code for code, _name in settings.LANGUAGES) == sorted(["en", *messages.languages()])


@pytest.mark.parametrize("template", TEMPLATES, ids=lambda path: path.relative_to(ROOT / "templates").as_posix())
def test_no_template_holds_a_text_that_is_not_marked(template: Path) -> None:
    text = template.read_text(encoding="utf-8")
    text = re.sub(r"{% block width %}.*?{% endblock %}|<style>.*?</style>", "", text, flags=re.DOTALL)
    text = re.sub(r"{%\s*(blocktranslate|comment)\b.*?{%\s*end\1\s*%}", "", text, flags=re.DOTALL)
    text = re.sub(r"{%.*?%}|{{.*?}}|{#.*?#}", "", text, flags=re.DOTALL)
    attributes = re.findall(rf'\s(?:{HEARD})="([^"]*)"', text)
    texts = re.sub(r"<code\b.*?</code>|<[^<>]*>|&\w+;", " ", text, flags=re.DOTALL)
    words = re.findall(r"[^\W\d_]{3,}", " ".join([texts, *attributes]))
    assert [word for word in words if word not in NAMES] == []


FORMS = [
    annotation.members.mail_views.AddressForm,
    annotation.members.mail_views.ResetForm,
    annotation.members.second_factor_views.CodeForm,
    annotation.rating.forms.ReturnForm,
    annotation.recruitment.accounts.NameForm,
]


@pytest.mark.parametrize("form", FORMS, ids=lambda form: form.__name__)
def test_every_field_of_a_form_is_labelled_in_the_language_of_its_reader(form: type[forms.BaseForm]) -> None:
    words = [
        (name, word) for name, field in form.base_fields.items() for word in (field.label, field.help_text or None)
    ]
    bare = [(name, word) for name, word in words if word is not None and not isinstance(word, Promise)]
    unlabelled = [name for name, field in form.base_fields.items() if field.label is None]

    assert bare == []
    assert unlabelled == []


def little(tmp_path: Path, template: str, po: str) -> list[str]:
    """Return what is wrong with a catalogue of one template."""
    (tmp_path / "templates").mkdir()
    (tmp_path / "templates" / "page.html").write_text("{% load i18n %}\n" + template, encoding="utf-8")
    folder = tmp_path / "locale" / "de" / "LC_MESSAGES"
    folder.mkdir(parents=True)
    (folder / "django.po").write_text('msgid ""\nmsgstr ""\n\n' + po, encoding="utf-8")
    (folder / "django.mo").write_bytes(messages.compiled(messages.read(tmp_path, "de")))
    return messages.problems(tmp_path, "de", messages.collect(tmp_path))


HELLO = '{% blocktranslate %}Hello <b class="x">{{ name }}</b>{% endblocktranslate %}'
HELLO_PO = 'msgid "Hello <b class=\\"x\\">%(name)s</b>"\n'


@pytest.mark.parametrize(
    ("template", "po", "problem"),
    [
        pytest.param('{% translate "Hello" %}', "", "not in django.po", id="missing"),
        pytest.param("", 'msgid "Hello"\nmsgstr "Hallo"\n', "no longer in the code", id="left over"),
        pytest.param("", '#~ msgid "Hello"\n#~ msgstr "Hallo"\n', "no longer in the code", id="obsolete"),
        pytest.param('{% translate "Hello" %}', 'msgid "Hello"\nmsgstr ""\n', "not translated", id="not translated"),
        pytest.param('{% translate "Hello" %}', '#, fuzzy\nmsgid "Hello"\nmsgstr "Hallo"\n', "fuzzy", id="fuzzy"),
        pytest.param(
            HELLO, HELLO_PO + 'msgstr "Hallo <b class=\\"x\\">%(nahme)s</b>"\n', "placeholders", id="placeholder"
        ),
        pytest.param(HELLO, HELLO_PO + 'msgstr "Hallo <b>%(name)s</b>"\n', "tags", id="tag"),
        pytest.param(
            '{% translate "Hello" %}', 'msgid "Hello"\nmsgstr "\\"Hallo\\""\n', "straight quotes", id="quotation mark"
        ),
        pytest.param('{% translate "Hello" %}', 'msgid "Hello"\nmsgstr " Hallo"\n', "white space", id="white space"),
        pytest.param(
            "{% blocktranslate %}{{ n }}%{% endblocktranslate %}",
            'msgid "%(n)s%%"\nmsgstr "%(n)s %"\n',
            "a lone %",
            id="percent sign",
        ),
        pytest.param(
            "{% blocktranslate count n=n %}one{% plural %}{{ n }}{% endblocktranslate %}",
            'msgid "one"\nmsgid_plural "%(n)s"\nmsgstr[0] "eins"\nmsgstr[1] "viele"\n',
            "placeholders",
            id="plural",
        ),
    ],
)
def test_what_is_wrong_with_a_catalogue_is_found(tmp_path: Path, template: str, po: str, problem: str) -> None:
    lines = little(tmp_path, template, po)

    assert len(lines) == 1
    assert problem in lines[0]


def test_a_compiled_file_that_is_older_than_its_source_is_found(tmp_path: Path) -> None:
    assert little(tmp_path, '{% translate "Hello" %}', 'msgid "Hello"\nmsgstr "Hallo"\n') == []
    po = tmp_path / "locale" / "de" / "LC_MESSAGES" / "django.po"
    po.write_text(po.read_text(encoding="utf-8").replace("Hallo", "Guten Tag"), encoding="utf-8")

    assert messages.problems(tmp_path, "de", messages.collect(tmp_path)) == [
        "de: django.mo was not made from this django.po"
    ]


def test_an_update_keeps_what_is_translated_and_writes_the_same_bytes_again(tmp_path: Path) -> None:
    little(tmp_path, '{% translate "Hello" %} {% translate "New" %}', 'msgid "Hello"\nmsgstr "Hallo"\n')
    po = tmp_path / "locale" / "de" / "LC_MESSAGES" / "django.po"

    messages.update(tmp_path, "de", messages.collect(tmp_path))
    first = po.read_bytes()
    messages.update(tmp_path, "de", messages.collect(tmp_path))

    assert po.read_bytes() == first
    assert b'msgid "Hello"\nmsgstr "Hallo"' in first
    assert b'msgid "New"\nmsgstr ""' in first
    assert b"-Date" not in first


def test_a_reworded_text_keeps_its_translation_marked_fuzzy(tmp_path: Path) -> None:
    little(tmp_path, '{% translate "Hello, dear" %}', 'msgid "Hello, dears"\nmsgstr "Hallo, ihr"\n')

    texts = messages.update(tmp_path, "de", messages.collect(tmp_path))

    po = (tmp_path / "locale" / "de" / "LC_MESSAGES" / "django.po").read_text(encoding="utf-8")
    assert '#, fuzzy\n#| msgid "Hello, dears"\nmsgid "Hello, dear"\nmsgstr "Hallo, ihr"' in po
    assert b"Hallo" not in messages.compiled(texts)


@pytest.mark.slow
def test_python_and_templates_are_read_with_plurals_contexts_and_comments(tmp_path: Path) -> None:
    (tmp_path / "templates").mkdir()
    (tmp_path / "templates" / "page.html").write_text(
        "{% load i18n %}\n    <p>it's\u00a0odd (</p>\n  <p>{# Translators: a door #}\n"
        '{% translate "Open" context "a door" %}{{ x|default:_("None") }}',
        encoding="utf-8",
    )
    (tmp_path / "annotation").mkdir()
    (tmp_path / "annotation" / "x.py").write_text(
        'a = gettext_lazy("Two " "halves")\nb = ngettext("%(n)d day", "%(n)d days", n)\n', encoding="utf-8"
    )

    texts = {(text.context, text.id): text.auto_comments for text in messages.collect(tmp_path) if text.id}

    assert texts == {
        ("a door", "Open"): ["a door"],
        (None, "None"): [],
        (None, "Two halves"): [],
        (None, ("%(n)d day", "%(n)d days")): [],
    }
