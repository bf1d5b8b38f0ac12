"""The page on adding a measure, walked through: its module, its line, its test and its commands come from the page."""

import json
import re
import shlex
from pathlib import Path

import pytest
from django.core.management import call_command
from django.test import Client

from reporting.findings.measures import measures, registry
from tests.factories import make_user
from tests.howto import run, run_tests
from tests.reporting.builders import Built, build_configuration, build_study, judge, rate

ROOT = Path(__file__).resolve().parents[4]
PAGE = ROOT / "docs" / "howto" / "add_a_measure.md"
TEXT = PAGE.read_text(encoding="utf-8")
MODULE, LINE, TEST = re.findall(r"```python\n(.*?)```", TEXT, re.DOTALL)
PACKAGE = (ROOT / "reporting" / "findings" / "measures" / "__init__.py").read_text(encoding="utf-8")

pytestmark = pytest.mark.django_db


@pytest.fixture(autouse=True)
def _registered(monkeypatch: pytest.MonkeyPatch) -> None:
    """Register the page’s measure for the length of a test."""
    monkeypatch.setattr(registry, "_MEASURES", dict(registry._MEASURES))
    run(MODULE)


@pytest.fixture
def built() -> Built:
    built = build_configuration(build_study("my-study"), instances=2, pairs=2)
    rate(built, 0, "ann", [0, 1])
    judge(built, "direct", [(0, 0, "ab", 0), (0, 1, "ba", "unparsed")])
    return built


@pytest.mark.slow
def test_test_of_the_page_passes() -> None:
    assert run_tests(TEST) == ["test_tie_share_by_hand"]


def test_the_pages_line_is_one_more_than_those_of_the_package() -> None:
    own = re.search(r"from reporting\.findings\.measures import \(\n(?:    \w+,.*\n)+\)\n", PACKAGE)
    assert own is not None
    added = [line for line in LINE.splitlines() if line not in own[0].splitlines()]
    assert [line.split(",")[0].strip() for line in added] == ["ties"]
    assert set(own[0].splitlines()) < set(LINE.splitlines())


@pytest.mark.slow
def test_the_pages_commands_show_the_measure(built: Built, capsys: pytest.CaptureFixture[str]) -> None:
    printed = []
    for command in re.findall(r"manage\.py (findings .+)", TEXT):
        call_command(*shlex.split(command))
        printed.append(capsys.readouterr().out)
    text, found = printed[0], json.loads(printed[1])
    assert any("Share of ties" in line and "0.500, n = 2 verdicts" in line for line in text.splitlines())
    people, direct = found["configurations"][0]["raters"]
    assert people["tie_share"]["value"] == 0.5
    assert (direct["tie_share"]["value"], direct["tie_share"]["n"], direct["tie_share"]["excluded"]) == (1.0, 1, 1)


@pytest.mark.slow
def test_the_findings_page_shows_the_measure(built: Built, client: Client) -> None:
    client.force_login(make_user("reader", "researcher", study=built.study))
    page = client.get("/studies/my-study/findings/").content.decode()
    table = page[page.index(">People and judges</caption>") :].split("</table>")[0]
    assert re.findall(r'<th [^>]*scope="col"[^>]*><bdi>([^<]+)</bdi></th>', table)[-3:] == [
        "Agrees with people",
        "Agrees with their majority",
        "Share of ties",
    ]
    last_cells = [re.findall(r"<td[^>]*>(.*?)</td>", row, re.DOTALL)[-1] for row in table.split("<tr>")[2:]]
    assert [re.sub(r"<[^>]+>", "", cell).split()[0] for cell in last_cells] == ["0.500", "1.000"]


def test_every_registered_measure_is_documented() -> None:
    documented = (ROOT / "docs" / "measures.md").read_text(encoding="utf-8")
    assert [one.key for one in measures() if f"`{one.key}`" not in documented] == ["tie_share"]


def test_every_option_is_on_the_page() -> None:
    options = set(registry.Measure.__dataclass_fields__) - {"key", "label", "compute"}
    assert options == set(re.findall(r"(?m)^\| `(\w+)` \|", TEXT))


def test_two_measures_with_one_key_are_refused() -> None:
    with pytest.raises(ValueError, match="two measures with the key tie_share"):
        run(MODULE)
