"""Sphinx makes the site of these pages: `make docs`. Its sources are a copy of this folder with generated pages (tools/docs.py)."""

import re
from typing import Any

from annotation.core.version import VERSION

project = "Tandem"
author = "The Tandem contributors"
project_copyright = author
release = version = VERSION

extensions = ["myst_parser", "sphinx.ext.autodoc"]
autodoc_default_options = {"members": True, "member-order": "bysource", "ignore-module-all": True}
autodoc_typehints = "none"  # docstrings say the shapes
autodoc_preserve_defaults = True
default_role = "code"
source_suffix = {".md": "markdown", ".rst": "restructuredtext"}
exclude_patterns = ["README.md"]
nitpicky = True
myst_heading_anchors = 4
myst_fence_as_directive: list[str] = []
suppress_warnings = ["misc.highlighting_failure"]  # JSON with an ellipsis in it

html_theme = "furo"
html_title = f"Tandem {release}"
html_static_path: list[str] = []
html_copy_source = False
html_show_sphinx = False


def docstring(_app: object, _what: str, _name: str, _object: object, _options: object, lines: list[str]) -> None:
    """Write a docstring as reStructuredText: lines `name : text` become definitions, indented paragraphs formulas."""
    out: list[str] = []
    kind = "prose"
    for line in lines:
        field = re.match(r"(\w+(?:, \w+)*) *: (.+)", line)
        before, kind = kind, "field" if field or (line.startswith(" ") and kind == "field") else "prose"
        if line.startswith(" ") and kind == "prose":
            kind = "formula"
            out += [line] if before == kind else ["::", "", line]
            continue
        text = "".join(
            part if part.startswith("`") else re.sub(r"([\\*|_])", r"\\\1", part)
            for part in re.split(r"(`[^`]*`)", (field[2] if field else line).strip())
        )
        if field:
            out += ["", f"``{field[1]}``", f"    {text}"]
        elif kind == "field":
            out.append(f"    {text}")
        else:
            out += [text] if before == kind else ["", text]
    lines[:] = out


def setup(app: Any) -> None:
    """Have docstrings read as they are written in this project."""
    app.connect("autodoc-process-docstring", docstring)
