"""The version tells releases and what comes after them apart, and releases are listed newest first."""

import re
from itertools import pairwise
from pathlib import Path

from annotation.core.version import VERSION

ROOT = Path(__file__).resolve().parent.parent


def releases() -> list[tuple[str, str]]:
    """Return version and date of each release of the changelog, in its order."""
    headings = re.findall(r"^## (.*)$", (ROOT / "CHANGELOG.md").read_text(encoding="utf-8"), re.MULTILINE)
    found = [re.fullmatch(r"(\d+\.\d+\.\d+) \((\d{4}-\d\d-\d\d)\)", text) for text in headings if text != "Unreleased"]
    assert None not in found, headings
    return [(match[1], match[2]) for match in found if match is not None]


def test_citation_names_the_latest_release() -> None:
    cited = dict(re.findall(r"^(version|date-released): (.*)$", (ROOT / "CITATION.cff").read_text(), re.MULTILINE))
    assert releases()[0] == (cited["version"], cited["date-released"])


def test_the_version_tells_a_release_from_what_comes_after_it() -> None:
    changelog = (ROOT / "CHANGELOG.md").read_text(encoding="utf-8")
    released, is_after = releases()[0][0], "\n## Unreleased\n" in changelog
    numbers, development = re.fullmatch(r"(\d+\.\d+\.\d+)(\.dev\d+)?", VERSION).groups()  # type: ignore[union-attr]
    assert (development is not None) == is_after
    assert (numbers > released) if is_after else (numbers == released)


def test_releases_stand_newest_first() -> None:
    numbers = [([int(part) for part in version.split(".")], date) for version, date in releases()]
    assert all(later[0] > earlier[0] and later[1] >= earlier[1] for later, earlier in pairwise(numbers))
