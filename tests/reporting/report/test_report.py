"""A study's report: it stands alone, says how the study was made and what limits it, and escapes what it quotes."""

import json
import re
from hashlib import sha256
from pathlib import Path

import pytest
from django.core.management import CommandError, call_command

from annotation.models import Annotator, Batch, Channel, Hit, Instance, Participant, Study
from annotation.studies.log import log
from judging.methods.prompts import FOLDER
from judging.models import Endpoint, Judge, Judgment
from reporting.report import building
from reporting.report.building import bibtex, cited, write_report
from reporting.report.limitations import limitations_of
from reporting.report.methods import MOST_BATCHES, methods_of
from tests.reporting.builders import build_configuration, build_study, findings, judge, rate, separate
from tests.reporting.refinement.test_repair import build_four_systems

pytestmark = [pytest.mark.django_db, pytest.mark.slow]
# Of these two files alone, though `cot.v1` is in the name as well.
ASKED = ("methods/pairwise-cot.v1.txt", "tasks/summarization.v1.toml")
HASH = sha256("\0".join((FOLDER / name).read_text(encoding="utf-8") for name in ASKED).encode()).hexdigest()[:12]


def build(slug: str = "shown") -> Study:
    study = build_study(slug)
    study.title, study.question, study.pay_per_hit, study.currency = (
        "A <b>study</b>",
        "Which <i>is</i> better?",
        2,
        "EUR",
    )
    study.save()
    built = build_configuration(study, instances=6, pairs=2)
    for place in range(6):
        rate(built, place, "ann", [1, 1 if place % 2 else -1])
        if place < 2:
            rate(built, place, "bob", [1, 0])
    separate(built, [(0.5, 0.5, place / 10) for place in range(6)], [place / 10 for place in range(6)])
    run = judge(
        built, "<u>judge", [(place, pair, "ab", 1 if place else "refused") for place in range(6) for pair in (0, 1)]
    )
    endpoint = Endpoint.objects.create(name="local", base_url="http://localhost/v1", model="small-model")
    tables = Endpoint.objects.create(name="large", base_url="http://localhost/v1", model="large-model")
    Judge.objects.update(endpoint=endpoint, table_endpoint=tables)
    Judgment.objects.filter(run=run).update(prompt_version="pairwise-cot.v1+summarization.v1")
    Batch.objects.update(selection={"spec": "top", "asked": {"spec": "top:6"}, "similarity": "rouge1", "pool": 9})
    Instance.objects.update(gold={"better": "first-system"})
    Annotator.objects.filter(code="bob").update(kind="scripted")
    Annotator.objects.create(study=study, code="never-came", kind="invited", excluded=True)
    for name, kind in (("link", "anonymous"), ("nobody", "prolific")):
        Channel.objects.create(study=study, name=name, kind=kind)
    Participant.objects.create(channel=study.channels.get(name="link"), annotator=Annotator.objects.get(code="ann"))
    log(study=study, kind="amendment", reason="a <slip>", changes={"question": ["Which?", "Which is better?"]})
    return study


@pytest.fixture(scope="module")
def study(module_rows: None) -> Study:
    return build()


@pytest.fixture(scope="module")
def folder(study: Study, tmp_path_factory: pytest.TempPathFactory) -> Path:
    made = tmp_path_factory.mktemp("reports") / "en"
    assert write_report(study, made) == ["report.html", "references.bib", "numbers.json"]
    return made


def page_of(folder: Path) -> str:
    return (folder / "report.html").read_text(encoding="utf-8")


def test_the_page_loads_nothing_and_runs_nothing(folder: Path) -> None:
    html = page_of(folder)
    loads = re.findall(r'\b(?:src|srcset|data|poster)="([^"]*)"', html)
    assert loads
    assert all(one.startswith("data:image/svg+xml;base64,") for one in loads)
    assert not {"script", "link", "iframe", "form", "button", "object", "embed"} & set(re.findall(r"<(\w+)", html))
    assert "url(" not in html
    assert "@import" not in html
    anchors = re.findall(r'href="#([^"]+)"', html)
    assert anchors
    assert set(anchors) <= set(re.findall(r'\bid="([^"]+)"', html))
    assert "<details>" not in html  # all is open, also on paper
    assert "default-src 'none'" in html


def test_what_it_quotes_is_escaped(folder: Path) -> None:
    html = page_of(folder)
    assert "<title>A &lt;b&gt;study&lt;/b&gt;</title>" in html
    for hostile in ("<b>study", "<i>is", "<u>judge", "<slip>"):
        assert hostile not in html


@pytest.mark.parametrize(
    "said",
    [
        "Task: Summarisation. Outputs of 2 systems were compared on 6 instances in 12 pairs.",
        "Asked was: “Which &lt;i&gt;is&lt;/i&gt; better?”.",
        "the 6 instances of highest separability (top:6, seed ",
        "1 person took part (Account here: 1). 1 program rated in place of a person. They came through: Anonymous link. A HIT",
        "Judge &lt;u&gt;judge: method direct, model small-model, with tables by large-model, parameters {&quot;t&quot;: 0}",
        f"prompt pairwise-cot.v1+summarization.v1 (SHA-256 {HASH})",
        "people rated only 6 instances; intervals are wide",
        "gave no readable verdict on 2 of 12 presentations",
        "One person (ann) gave 75% of people’s ratings",
    ],
)
def test_it_says_how_the_study_was_made_and_what_limits_it(folder: Path, said: str) -> None:
    assert said in " ".join(page_of(folder).split())


@pytest.mark.parametrize(
    ("ratings", "is_said"),
    [
        ([10, 10, 10], False),
        ([10], True),
        ([11, 9], True),
        ([10, 10], False),
        ([28] + [8] * 9, True),
        ([24] + [8] * 9, False),
        ([40, 20, 20, 20], False),
    ],
)
def test_ratings_of_one_person_are_a_limit_beyond_an_equal_share(ratings: list[int], is_said: bool) -> None:
    numbers = {"configurations": [], "provenance": []}
    limits = limitations_of(numbers, {f"ann-{at}": count for at, count in enumerate(ratings, 1)})
    assert [limit for limit in limits if "One person (ann-1)" in limit] == limits
    assert bool(limits) == is_said


def test_numbers_and_references_lie_beside_it(study: Study, folder: Path) -> None:
    numbers = json.loads((folder / "numbers.json").read_text(encoding="utf-8"))
    assert numbers == json.loads(json.dumps(findings(study)))
    text = (folder / "references.bib").read_text(encoding="utf-8")
    assert text == bibtex(cited(numbers), numbers["version"])
    keys = re.findall(r"(?m)^@\w+\{(\w+),", text)
    assert {"ghosh2024despair", "lin2004rouge", "krippendorff2018content", "tandem"} <= set(keys)
    assert not {"popovic2015chrf", "angelopoulos2023ppi"} & set(keys)  # nothing is by these
    assert ("Benjamini and Yekutieli" in page_of(folder)) == ("benjamini2001control" in keys)


def test_the_models_behind_rankings_are_cited(study: Study) -> None:
    numbers = findings(study, rounds=1)
    assert not {"bradley_terry", "elo"} & set(cited(numbers))
    ranked = {**numbers, "rankings": [{"measure": "sep_bradley_terry"}, {"measure": "elo"}]}
    assert {"bradley_terry", "elo"} <= set(cited(ranked))


# By what BibTeX's standard styles ask for.


def test_of_many_configurations_the_first_are_shown_and_the_others_counted(
    study: Study, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(building, "MOST_CONFIGURATIONS", 2)
    found = findings(study, rounds=1)
    [one] = found["configurations"]
    many = {**found, "configurations": [one] * 5}
    page = building.report_page(study, many)
    assert page.count('class="configuration"') == 2
    assert "The 3 other configurations are in numbers.json" in page
    few, all_ = (
        limitations_of(found, {}),
        limitations_of({**found, "configurations": [one] * 9}, {}),
    )
    assert len(few) > 2
    listed = [said for said in few[:-1] for _ in range(5)]
    assert [said for said in all_[:-1] if said in listed] == listed
    assert all_.count("The same holds, each with its own numbers, for 4 further configurations.") == len(few) - 1


def test_instances_that_systems_share_count_once_and_many_batches_are_added_up() -> None:
    study, _ = build_four_systems(instances=3)
    made = " ".join(methods_of(study, findings(study, rounds=1)))
    assert "Outputs of 4 systems were compared on 3 instances in 18 pairs." in made
    assert made.count("It has 3 HITs, each with N = 1 pair of") == MOST_BATCHES
    assert "1 further batch: 3 HITs; submissions: 0." in made
    last = Hit.objects.filter(batch=study.batches.all()[MOST_BATCHES])
    last.exclude(pk=last[0].pk).delete()
    made = " ".join(methods_of(study, findings(study, rounds=1)))
    assert "1 further batch: 1 HIT; submissions: 0." in made
    Batch.objects.update(origin="imported")
    made = " ".join(methods_of(study, findings(study, rounds=1)))
    assert "The ratings of 6 batches were collected elsewhere and imported: 16 HITs; submissions: 0." in made


def test_clusters_and_missing_people_are_limits(study: Study) -> None:
    found = findings(study, rounds=1)
    counts = {"instances": 999, "clusters": 170}
    with_repeats, without = (limitations_of({**found, "clusters": clusters}, {}) for clusters in (counts, None))
    [added] = set(with_repeats) - set(without)
    assert ("999" in added, "170" in added) == (True, True)
    [one] = found["configurations"]
    people = {**one["raters"][0], "ratings": 0, "mean_consistency": {"n_instances": 0}}
    unrated = limitations_of({**found, "configurations": [{**one, "raters": [people, *one["raters"][1:]]}]}, {})
    assert not any("people rated only" in limit for limit in unrated)
    assert any("people rated only" in limit for limit in without)


def test_a_study_without_anything_has_a_report_too(tmp_path: Path) -> None:
    write_report(build_study("empty"), tmp_path / "empty")
    assert page_of(tmp_path / "empty")


def test_the_command_refuses_a_folder_that_is_there(
    study: Study, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    call_command("report", study.slug, "--out", str(tmp_path / "out"))
    assert capsys.readouterr().out.split() == [
        str(tmp_path / "out" / name) for name in ("report.html", "references.bib", "numbers.json")
    ]
    with pytest.raises(CommandError, match="exists already"):
        call_command("report", study.slug, "--out", str(tmp_path / "out"))
