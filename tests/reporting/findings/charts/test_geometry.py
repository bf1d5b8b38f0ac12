"""How pictures look: one look for each rater, nothing cut or written over, letters that can be read in a column."""

from itertools import product

import pytest

from reporting.core import charts
from reporting.core.raters import PEOPLE
from reporting.core.themes import THEMES
from reporting.findings.charts.common import EVERYONE, rater_looks
from reporting.findings.pictures import KINDS, OF_CONFIGURATION, draw
from tests.reporting.findings.charts.geometry import Picture, overlapping, read
from tests.reporting.findings.charts.test_charts import TIE, A, B, Found, configuration, study

pytestmark = [pytest.mark.slow, pytest.mark.weekly]
RADIUS = 3  # pixels of a point, at least
SMALLEST = 11  # pixels of letters, also on a phone
VALUES = [0.0, 0.1, 0.4, 0.45, 0.9, 1.0]


def system(place: int) -> str:
    return f"{place:02}-meadowlark-large-instruct-preview-v0{chr(97 + place)}"  # 40 characters


@pytest.fixture(scope="module")
def long_names() -> Found:
    """Twelve systems and nine judges with long names; agreement and wins from nothing to all."""
    votes = [[A, A, A], [A, A, A], [A, B, A], [B, TIE, A], [A, A, B], [A, A, A]]
    judges = {f"judge-{n}-of-a-rather-long-name": [A, A, A, B if n % 2 else A, TIE, A] for n in range(9)}
    lengths = {(i, p): (100 + 20 * i, 90 + 31 * p) for i, p in product(range(6), range(2))}
    families = {system(0): "gpt", **dict.fromkeys(judges, "gpt")}
    return study(
        *(
            configuration(
                (system(n), system(n + 1)), votes, judges, VALUES, f"set-{n}", lengths=lengths, families=families
            )
            for n in range(11)
        )
    )


@pytest.fixture(scope="module")
def pictures(long_names: Found) -> dict[str, Picture]:
    first = long_names["configurations"][0]
    specs = {name: draw(name, long_names, configuration=first if name in OF_CONFIGURATION else None) for name in KINDS}
    return {name: read(charts.to_svg(spec)) for name, spec in specs.items()}


@pytest.mark.parametrize("name", KINDS)
def test_nothing_is_cut_or_written_over(pictures: dict[str, Picture], name: str) -> None:
    picture = pictures[name]
    assert len(picture.texts) > 1
    assert overlapping(picture.texts) == []
    assert min(text.size for text in picture.texts) >= SMALLEST
    assert picture.width <= 1.04 * charts.COLUMN_WIDTH
    for (x, y), (width, height) in picture.symbols:
        assert RADIUS < x < width - RADIUS
        assert RADIUS < y < height - RADIUS


def look_of(spec: charts.Spec, series: str) -> tuple[str, str]:
    """Return the colour and shape in which a picture draws a row or a series."""
    [look] = {
        (row["_colour"], row["_shape"])
        for row in spec["data"]["values"]
        if series
        in (row.get("series"), row.get("rater"), row.get("_label", "").split(" (")[0] if not row.get("series") else "")
    }
    return look


def test_people_and_judges_keep_their_looks_in_every_picture() -> None:
    votes, judges = [[A, B, A]] * 6, {"other": [B] * 6, "direct": [A] * 6}
    two = study(configuration(("one", "two"), votes, judges, VALUES))
    more = study(
        configuration(("one", "two"), votes, judges, VALUES), configuration(("two", "three"), votes, judges, VALUES)
    )
    for theme in THEMES:
        places = range(len(THEMES[theme].judges) + 1)
        assert len({THEMES[theme].look(index)[0] for index in places}) == len(places)
        assert {THEMES[theme].look(len(places) + more)[0] for more in range(9)} == {THEMES[theme].series[-1]}
        looks = {name: THEMES[theme].look(index) for index, name in enumerate((PEOPLE, "direct", "other"))}
        for name in ("preferences", "position", "pooled-consistency", "fully-consistent"):
            for found in (two, more):
                spec = draw(name, found, theme)
                assert {rater: look_of(spec, rater) for rater in looks} == looks, name
        against = draw("judges-against-people", two, theme)
        assert look_of(against, PEOPLE) == looks[PEOPLE]
        colours = {
            row["name"]: row["_colour"] for row in against["data"]["values"] if row["series"].startswith("judge")
        }
        assert colours == {name: looks[name][0] for name in ("direct", "other")}
    assert rater_looks({EVERYONE: [PEOPLE, "judge:a"]}, ["judges (mean)"], "light")[0][0] == THEMES["light"].ink


# Viénot, Brettel and Mollon 1999: how linear red, green and blue are seen.
