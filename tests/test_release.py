"""The version tells releases and what comes after them apart, and releases are listed newest first."""

import re
from itertools import pairwise
from pathlib import Path

import pytest

from annotation.core.version import VERSION

pytestmark = pytest.mark.slow

ROOT = Path(__file__).resolve().parent.parent
HEADINGS = re.findall(r"^## (.*)$", (ROOT / "CHANGELOG.md").read_text(encoding="utf-8"), re.MULTILINE)


def releases() -> list[tuple[list[int], str]]:
    """Return version and date of each release of the changelog, in its order."""
    found = [re.fullmatch(r"(\d+\.\d+\.\d+) \((\d{4}-\d\d-\d\d)\)", text) for text in HEADINGS if text != "Unreleased"]
    assert None not in found, HEADINGS
    return [([int(part) for part in match[1].split(".")], match[2]) for match in found if match is not None]


def test_citation_names_the_version() -> None:
    assert f"\nversion: {VERSION}\n" in (ROOT / "CITATION.cff").read_text(encoding="utf-8")


def test_the_version_tells_a_release_from_what_comes_after_it() -> None:
    numbers, development = re.fullmatch(r"(\d+\.\d+\.\d+)(\.dev\d+)?", VERSION).groups()  # type: ignore[union-attr]
    assert (development is not None) == (HEADINGS[0] == "Unreleased")
    latest = [one for one, _ in releases()[:1]]
    assert development or [[int(part) for part in numbers.split(".")]] == latest


def test_releases_stand_newest_first() -> None:
    assert all(later[0] > earlier[0] and later[1] >= earlier[1] for later, earlier in pairwise(releases()))
