#!/usr/bin/env python3
"""Make the site of the documentation in var/docs/html; `make docs` runs it.

The sources are a copy of docs/ and pages that are generated here: commands, settings, judging methods, similarities, functions of
the measures, rules of the answer, columns of exports and paths of the API. A link that leads nowhere, and a page that no table of contents names, is an error.
"""

import argparse
import os
import pkgutil
import re
import shutil
import subprocess
import sys
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any

import django

ROOT = Path(__file__).resolve().parent.parent
SITE = ROOT / "var" / "docs"
OUTSIDE = "deploy"  # a folder elsewhere that pages link to
# Django's own options, which say the same of each command.
OF_EVERY_COMMAND = (
    *("help", "version", "verbosity", "settings", "pythonpath", "traceback"),
    *("no_color", "force_color", "skip_checks"),
)


def _cell(text: object) -> str:
    """Return text as one line of a table's cell in Markdown."""
    return " ".join(str(text).split()).replace("|", "\\|").replace("<", "&lt;")


def _table(heads: tuple[str, ...], rows: Iterator[tuple[object, ...]]) -> str:
    lines = [heads, ("---",) * len(heads), *rows]
    return "".join("| " + " | ".join(_cell(cell) for cell in line) + " |\n" for line in lines)


def commands() -> str:
    """Return the help of each command, by package."""
    from django.core.management import get_commands, load_command_class

    text = "# Commands\n\nEach as `./manage.py NAME …`, or `tandem NAME …` where Tandem is installed; all take Django's `--verbosity` and `--traceback`.\n"
    own = {name: app for name, app in get_commands().items() if app in ("annotation", "judging", "reporting")}
    for package in ("annotation", "judging", "reporting"):
        text += f"\n## {package.capitalize()}\n"
        for name in sorted(name for name, app in own.items() if app == package):
            parser = load_command_class(package, name).create_parser("./manage.py", name)
            for action in parser._actions:  # noqa: SLF001 argparse lists them nowhere else
                if action.dest in OF_EVERY_COMMAND:
                    action.help = argparse.SUPPRESS
            text += f"\n### {name}\n\n```text\n{parser.format_help()}```\n"
    return text


def settings() -> str:
    """Return the settings of an installation: those that docs/architecture.md explains, with the lines that read them."""
    section = re.search(
        r"(?ms)^## Settings\n(.*?)^## ", (ROOT / "docs" / "architecture.md").read_text(encoding="utf-8")
    )
    assert section is not None
    moved = re.sub(r"\]\((\w+[/.])", r"](../\1", section[1])  # links to pages beside, seen from a folder further down
    return "# Settings of an installation\n" + moved.replace("(#installed)", "(../architecture.md#installed)")


def study_settings() -> str:
    """Return the settings of a study as `configure_study` takes them, in the groups of the page."""
    from annotation.models import Study
    from annotation.studies.settings_form import GROUPS, StudySettingsForm

    text = "# Settings of a study\n\nBy the page *Settings*, `configure_study STUDY NAME=VALUE` or the API.\n"
    fields = StudySettingsForm.base_fields
    for title, about, names in GROUPS:
        rows = ((f"`{name}`", fields[name].label, _default(Study, name), fields[name].help_text) for name in names)
        text += f"\n## {title}\n\n{about}\n\n" + _table(("name", "on the page", "default", "effect"), rows)
    return text


def _default(model: Any, name: str) -> str:
    default = model._meta.get_field(name).get_default()
    return "–" if default in (None, "", []) else f"`{default}`" if len(str(default)) < 40 else "a general text"


def methods() -> str:
    """Return the judging methods in the groups of the judges' page."""
    from judging.methods import find_method
    from judging.runs.method_groups import METHOD_GROUPS

    text = "# Judging methods\n\nCalls are those for a pair in one order with the default options.\n"
    for group, offered in METHOD_GROUPS.items():
        rows = (
            (f"`{one.name}`", one.calls, one.when, ", ".join(f"`{key}={value}`" for key, value in options.items()))
            for one in offered
            for options in [find_method(one.name).options]
        )
        text += f"\n## {group}\n\n" + _table(("method", "calls", "when to choose it", "options and defaults"), rows)
    return text


def similarities() -> str:
    """Return the similarities that separability can use."""
    from analysis.similarity import registry

    needed = {"": "nothing", "tokens": "a model with vectors of tokens", "encoder": "a model with vectors of texts"}
    rows = ((f"`{name}`", needed.get(registry.needs(name), "a model of named entities")) for name in registry.names())
    return "# Similarities\n\nDefined in [measures](../measures.md#text-similarities).\n\n" + _table(
        ("name", "needs"), rows
    )


def functions() -> str:
    """Return the page on which Sphinx shows the docstrings of the measures, by module."""
    import analysis

    names = [module.name for module in pkgutil.walk_packages(analysis.__path__, "analysis.")]
    text = "# Functions of the measures\n\nFormulas, shapes, units, errors and sources; what they are for is in [measures](../measures.md).\n"
    return text + "".join(f"\n## {name}\n\n```{{eval-rst}}\n.. automodule:: {name}\n```\n" for name in names)


def answer_rules() -> str:
    """Return the rules of the answer with their sentences."""
    from reporting.findings.answer.answer_text import CLAUSES, TEXTS

    text = "# Rules of the answer\n\nWhen each sentence is said is in [measures](../measures.md#the-answer).\n\n"
    text += _table(("rule", "sentence"), ((f"`{rule}`", sentence) for rule, sentence in TEXTS.items()))
    clauses = _table(("value", "clause"), ((f"`{name}`", clause.strip()) for name, clause in CLAUSES.items()))
    return f"{text}\nA clause follows where a sentence has its value.\n\n{clauses}"


def export_columns() -> str:
    """Return the columns of each exported file, for a study with one question."""
    from annotation.models import Study
    from reporting.exports.files import KINDS, TYPES

    text = (
        "# Columns of exported files\n\nOf a study with one question; what they mean is in [files](../data.md#out).\n"
    )
    for kind, (_rows, columns) in KINDS.items():
        rows = ((f"`{column}`", TYPES.get(column, "text")) for column in columns(Study()))
        text += f"\n## {kind}\n\n" + _table(("column", "type"), rows)
    return text


def api_paths() -> str:
    """Return the operations of the API, from its schema."""
    from drf_spectacular.generators import SchemaGenerator

    found = SchemaGenerator().get_schema(request=None, public=True)["paths"]
    rows = (
        (f"`{method.upper()} {path}`", operation.get("description", ""), _filters(operation))
        for path, operations in found.items()
        for method, operation in operations.items()
    )
    about = "Generated from the schema, which a server shows under `/api/v1/schema/`."
    return f"# Paths of the API\n\n{about}\n\n" + _table(("operation", "what", "filters"), rows)


def _filters(operation: Mapping[str, Any]) -> str:
    return ", ".join(f"`{one['name']}`" for one in operation.get("parameters", []) if one["in"] == "query")


PAGES: Mapping[str, Callable[[], str]] = {
    "commands": commands,
    "settings": settings,
    "study_settings": study_settings,
    "methods": methods,
    "similarities": similarities,
    "functions": functions,
    "answer_rules": answer_rules,
    "export_columns": export_columns,
    "api_paths": api_paths,
}


def main() -> None:
    """Lay out the sources and have Sphinx make the site."""
    os.environ.setdefault("DJANGO_SETTINGS_MODULE", "config.settings")
    os.environ["COLUMNS"] = "100"  # of the commands' help
    sys.path.insert(0, str(ROOT))
    django.setup()
    source = SITE / "source"
    shutil.rmtree(SITE, ignore_errors=True)
    shutil.copytree(ROOT / "docs", source)
    shutil.copytree(ROOT / OUTSIDE, SITE / OUTSIDE)
    (source / "reference").mkdir()
    for name, page in PAGES.items():
        (source / "reference" / f"{name}.md").write_text(page(), encoding="utf-8")
    command = [
        sys.executable,
        "-m",
        "sphinx",
        "--fail-on-warning",
        "--keep-going",
        "--quiet",
        str(source),
        str(SITE / "html"),
    ]
    raise SystemExit(subprocess.run(command, check=False, env=os.environ | {"PYTHONPATH": str(ROOT)}).returncode)


if __name__ == "__main__":
    main()
