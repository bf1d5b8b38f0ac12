"""Sphinx makes the site of these pages: `make docs`. Its sources are a copy of this folder with generated pages (tools/docs.py)."""

from annotation.core.version import VERSION

project = "Tandem"
author = "The Tandem contributors"
project_copyright = author
release = version = VERSION

extensions = ["myst_parser"]
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
