"""A bundle's numbers follow from its rows, and nothing changed in it goes unnoticed."""

import gzip
import hashlib
import json
import shutil
import zipfile
from collections.abc import Callable
from operator import itemgetter
from pathlib import Path
from typing import Any

import pytest
from django.core.management import CommandError, call_command

from annotation.models import Study
from reporting.accuracy.study_accuracy import judge_accuracy
from reporting.bundle.layout import BadBundle
from reporting.bundle.numbers import OF_PAGES, PAGES, filters_of_numbers, table_effect
from reporting.bundle.opening import open_bundle
from reporting.bundle.study_data import BundledStudy
from reporting.bundle.verifying import verify_bundle
from reporting.findings.study_findings import findings, findings_under
from reporting.logic.study_audit import kept_audit
from reporting.table_effect.reading import table_effect as shown_effect

pytestmark = [pytest.mark.django_db, pytest.mark.slow]


def stated(folder: Path) -> dict[str, Any]:
    found: dict[str, Any] = json.loads((folder / "numbers.json").read_text(encoding="utf-8"))
    return found


def without_withdrawn(found: dict[str, Any]) -> dict[str, Any]:
    for one in found["configurations"]:
        one["raters"][0]["exclusions"]["withdrawn"] = 0
    return found


def test_the_numbers_are_those_of_the_findings_page(varied: Study, bundle: Path) -> None:
    numbers = stated(bundle)
    others, *_ = (numbers.pop(name) for name in ("others", *PAGES))
    shown = json.loads(json.dumps(findings(varied)))
    assert any(one["raters"][0]["exclusions"]["withdrawn"] for one in shown["configurations"])
    assert numbers == without_withdrawn(shown)
    assert [(one["filters"]["stage"], one["filters"]["question"]) for one in others] == [
        ("revised", "overall"),
        ("first", "fluency"),
    ]
    revised = findings_under(varied, filters_of_numbers(varied.questions[0], revised=True))
    assert others[0] == without_withdrawn(json.loads(json.dumps(revised)))


def test_the_audits_are_those_of_the_page_on_logic(varied: Study, bundle: Path) -> None:
    found = stated(bundle)["logic"]
    pages = [{"question": one.key, **kept_audit(varied, question=one.number)} for one in varied.questions]
    assert found == json.loads(json.dumps(pages))
    by_rater = {one["rater"]: one for one in found[0]["raters"]}
    twice = by_rater["judge:twice"]
    assert [one["method"] for one in found[0]["wordings"]] == ["direct"]
    assert 0 < twice["transitivity"]["4"]["value"] < 1
    assert twice["negation_invariance"]["n"] > 30
    assert twice["self_agreement"]["n"] > 100
    assert twice["contradictions"]["order_effects"]["count"] > 10
    assert by_rater["people"]["human_agreement"]["n"] > 5
    assert by_rater["judge:likely"]["alike"] == ""


def test_judges_are_right_as_often_as_their_page_says(varied: Study, bundle: Path) -> None:
    accuracy = stated(bundle)["accuracy"]

    assert accuracy == json.loads(json.dumps(judge_accuracy(varied)))

    assert {(one["kind"], one["subset"]) for one in accuracy["subsets"]} == {
        *(("dataset", name) for name in ("news", "talk")),
        *(("tag", name) for name in ("hard", "old")),
        ("all", "all"),
    }
    of = {one["judge"]: one["subsets"][-1] for one in accuracy["judges"]}
    assert list(of)[3:] == ["jury-dawid-skene", "jury-majority", "jury-weighted", "likely", "plain", "twice"]
    assert [one["judge"] for one in accuracy["wordings"][0]["judges"]] == ["plain", "twice"]
    taken = ("tokens_per_verdict", "tokens_made_per_verdict", "calls_made_per_verdict")
    assert all(of["plain"][name]["value"] > 0 for name in taken)
    assert of["likely"]["calls_per_verdict"]["value"] is None
    assert all(0 < of["plain"][name]["value"] < 1 for name in ("wrong_when_sound", "sound_when_wrong"))
    assert of["plain"]["wrong_when_sound"]["excluded"] > 0


def test_verifying_reads_no_database(bundle: Path, django_assert_num_queries: Any) -> None:
    with django_assert_num_queries(0):
        verify_bundle(bundle)


def rewrite(folder: Path, name: str, change: Callable[[bytes], bytes], *, hashed: bool = True) -> None:
    """Change a file, and its hash in the manifest too, as one who knows what they do."""
    path = folder / name
    data = change(path.read_bytes())
    path.write_bytes(data)
    if hashed:
        manifest = json.loads((folder / "manifest.json").read_bytes())
        manifest["files"][name]["sha256"] = hashlib.sha256(data).hexdigest()
        (folder / "manifest.json").write_text(json.dumps(manifest))


def in_row(change: Callable[[dict[str, Any]], dict[str, Any]], *places: int) -> Callable[[bytes], bytes]:
    def changed(data: bytes) -> bytes:
        lines = gzip.decompress(data).splitlines()
        for place in places or (0,):
            lines[place] = json.dumps(change(json.loads(lines[place]))).encode()
        return gzip.compress(b"\n".join(lines) + b"\n")

    return changed


def in_every_row(change: Callable[[dict[str, Any]], dict[str, Any]]) -> Callable[[bytes], bytes]:
    return lambda data: in_row(change, *range(len(gzip.decompress(data).splitlines())))(data)


def flipped(row: dict[str, Any]) -> dict[str, Any]:
    return {**row, "rating": -1 if row["rating"] != -1 else 1}


def turned(asked: str) -> Callable[[bytes], bytes]:
    """Turn the first judgment of a judge of those that were asked so."""

    def changed(data: bytes) -> bytes:
        rows = map(json.loads, gzip.decompress(data).splitlines())
        place = next(
            place for place, row in enumerate(rows) if row[asked] and row["verdict"] and row["judge"] == "twice"
        )
        return in_row(lambda row: {**row, "verdict": -row["verdict"]}, place)(data)

    return changed


@pytest.mark.parametrize(
    ("name", "change"),
    [
        pytest.param("judgments.jsonl.gz", turned("repeat"), id="repeated answer"),
        pytest.param("judgments.jsonl.gz", turned("negated"), id="negated answer"),
        pytest.param("numbers.json", lambda data: data.replace(b'"ratings": ', b'"ratings": 1', 1), id="number"),
        pytest.param(
            "separability.jsonl.gz",
            lambda data: gzip.compress(gzip.decompress(data).replace(b'"separability":0', b'"separability":7')),
            id="alignment",
        ),
        pytest.param(
            "judgments.jsonl.gz", in_row(lambda row: {**row, "status": "refused", "verdict": None}), id="verdict"
        ),
        pytest.param("pairs.jsonl.gz", in_row(lambda row: {**row, "length_a": 5000}), id="length"),
        pytest.param(
            "instances.jsonl.gz",
            in_row(lambda row: {**row, "generations": {**row["generations"], "first-system": ["x", "y", "z"]}}),
            id="text",
        ),
        pytest.param("records/slot.jsonl.gz", in_row(lambda row: {**row, "assignment": None}), id="slot"),
        pytest.param("records/annotator.jsonl.gz", in_row(lambda row: {**row, "excluded": True}), id="excluded"),
    ],
)
def test_rows_that_say_something_else_are_refused_even_with_the_right_hash(
    copy: Path, name: str, change: Callable[[bytes], bytes]
) -> None:
    rewrite(copy, name, change)
    with pytest.raises(BadBundle, match=r"differ from what follows from the rows|not that of its text"):
        verify_bundle(copy)


def test_what_only_the_accuracy_of_judges_depends_on_is_recomputed(copy: Path) -> None:
    changes: dict[str, Callable[[dict[str, Any]], dict[str, Any]]] = {
        "records/rationalemark": lambda row: {**row, "sound": not row["sound"]},
        "records/judgment": lambda row: {**row, "cached": 0},
        "records/judge": lambda row: {**row, "task": f"task {row['id']}"},
        "judgments": lambda row: {**row, "completion_tokens": 5},
        "instances": lambda row: {**row, "metadata": {"tag": "other"}},
    }
    found = [stated(copy)["accuracy"]]
    for name, change in changes.items():
        rewrite(copy, f"{name}.jsonl.gz", in_every_row(change))
        computed = OF_PAGES["accuracy"](BundledStudy(open_bundle(copy)))
        assert computed not in found, name
        found.append(json.loads(json.dumps(computed)))
    with pytest.raises(BadBundle, match=r"follows from the rows:\n  accuracy\."):
        verify_bundle(copy)


def test_a_changed_rating_is_named_by_the_numbers_that_it_moves(copy: Path) -> None:
    counted = next(
        place
        for place, line in enumerate(gzip.decompress((copy / "ratings.jsonl.gz").read_bytes()).splitlines())
        if not json.loads(line)["excluded"] and json.loads(line)["stage"] == "first"
    )
    rewrite(copy, "ratings.jsonl.gz", in_row(flipped, counted))
    with pytest.raises(CommandError, match=r"configurations\[\d\]\.raters\[0\].*stated .*, found ") as refused:
        call_command("verify_bundle", str(copy))
    assert "more" in str(refused.value)


def test_what_tables_change_is_stated_as_the_page_shows_it(varied: Study, bundle: Path) -> None:
    shown = json.loads(json.dumps(shown_effect(varied)))
    assert min(shown["excluded"].values()) > 0, shown["excluded"]
    control, table = shown["arms"]
    assert min(table[name] for name in ("with_gold", "with_others", "with_table", "with_reason")) > 0
    assert table["decisions"] > table["table_verdict"]["known"] > 0
    assert (control["with_table"], shown["scripted_raters"], len(shown["chosen"])) == (0, 1, 2)
    shown["excluded"]["withdrawn"] = 0
    assert stated(bundle)["table_effect"] == shown


def test_rows_that_say_something_else_change_what_tables_change(copy: Path, bundle: Path) -> None:
    def changed_arm(file: str, which: Callable[[dict[str, Any]], object], **change: Any) -> dict[str, Any]:
        shutil.copytree(bundle, copy, dirs_exist_ok=True)
        places = [place for place, row in enumerate(open_bundle(copy).rows(file)) if which(row)]
        rewrite(copy, f"{file}.jsonl.gz", in_row(lambda row: {**row, **change}, *places))
        found: dict[str, Any] = table_effect(BundledStudy(open_bundle(copy)))["arms"][1]
        return found

    said = stated(bundle)["table_effect"]["arms"][1]
    turned = changed_arm("judgments", lambda row: row["verdict"] == -1, verdict=1)
    assert turned["table_verdict"] != said["table_verdict"]
    assert changed_arm("records/tablemaking", itemgetter("table"), table=None)["table_verdict"]["known"] == 0
    assert changed_arm("records/assignment", itemgetter("arm"), arm="table:c8")["decisions"] > said["decisions"]
    in_ratings: dict[str, dict[str, Any]] = {
        "moves": {"rating": 0},
        "second_seconds": {"active_seconds": 1000.5},
        "with_reason": {"reason": ""},
        "decisions": {"arm": "none"},
        "with_table": {"table": None},
    }
    for number, change in in_ratings.items():
        assert changed_arm("ratings", itemgetter("table"), **change)[number] != said[number], number
    with pytest.raises(
        BadBundle, match=r"table_effect\.arms\[1\]\.with_table: stated"
    ):  # of which findings say nothing
        verify_bundle(copy)


def link(copy: Path) -> None:
    (copy / "flags.jsonl.gz").rename(copy.parent / "flags")
    (copy / "flags.jsonl.gz").symlink_to(copy.parent / "flags")


def listed(copy: Path, **changes: Any) -> None:
    manifest = json.loads((copy / "manifest.json").read_bytes())
    (copy / "manifest.json").write_text(json.dumps({**manifest, **changes}))


def named(copy: Path, name: str) -> None:
    (copy.parent / "outside").write_bytes(b"")
    files = json.loads((copy / "manifest.json").read_bytes())["files"]
    listed(copy, files={**files, name: {"sha256": hashlib.sha256(b"").hexdigest()}})


@pytest.mark.parametrize(
    ("damage", "reason"),
    [
        pytest.param(
            lambda copy: rewrite(copy, "history.jsonl.gz", lambda data: data[:-1] + b"!", hashed=False),
            "history.jsonl.gz has been changed",
            id="a changed byte",
        ),
        pytest.param(lambda copy: (copy / "tables.jsonl.gz").unlink(), "tables.jsonl.gz is missing", id="no file"),
        pytest.param(lambda copy: (copy / "more.txt").write_text(""), "more.txt is no file of the bundle", id="more"),
        pytest.param(lambda copy: listed(copy, format_version=3), "reads up to format 2", id="newer"),
        pytest.param(lambda copy: named(copy, "../outside"), "can be no file of a bundle", id="path out"),
        pytest.param(lambda copy: named(copy, "/etc/passwd"), "can be no file of a bundle", id="absolute path"),
        pytest.param(link, "flags.jsonl.gz is a symbolic link", id="link"),
        pytest.param(lambda copy: (copy / "manifest.json").write_text("[1"), "not valid JSON", id="no manifest"),
        pytest.param(lambda copy: listed(copy, kind="other"), "not that of a bundle", id="another thing"),
        pytest.param(
            lambda copy: rewrite(copy, "ratings.jsonl.gz", lambda data: gzip.compress(gzip.decompress(data)[:-20])),
            "ratings.jsonl.gz: line",
            id="cut rows",
        ),
        pytest.param(
            lambda copy: rewrite(copy, "raters.jsonl.gz", lambda data: data[:-9]), "can't be unpacked", id="cut file"
        ),
    ],
)
def test_a_damaged_bundle_is_refused(copy: Path, damage: Callable[[Path], object], reason: str) -> None:
    damage(copy)
    with pytest.raises(BadBundle, match=reason):
        verify_bundle(copy)


def test_an_archive_is_verified_as_the_page_of_files_gives_it(bundle: Path, tmp_path: Path, capsys: Any) -> None:
    packed = shutil.make_archive(str(tmp_path / "bundle"), "zip", bundle.parent, bundle.name)
    call_command("verify_bundle", packed)
    assert "all numbers follow from the rows" in capsys.readouterr().out
    with zipfile.ZipFile(packed, "a") as file:
        file.writestr("more.txt", "x")
    with pytest.raises(CommandError, match="more than the folder of one bundle"):
        call_command("verify_bundle", packed)
    with zipfile.ZipFile(packed, "a") as file:
        file.writestr("../out.txt", "x")
    with pytest.raises(CommandError, match="leads out of its folder"):
        call_command("import_bundle", packed, "--study", "copy")
    assert not (tmp_path.parent / "out.txt").exists()


def changed(copy: Path, change: Callable[[dict[str, Any]], object]) -> None:
    def as_json(data: bytes) -> bytes:
        numbers = json.loads(data)
        change(numbers)
        return json.dumps(numbers).encode()

    rewrite(copy, "numbers.json", as_json)


def test_numbers_by_other_code_are_compared_and_its_words_are_counted(copy: Path, capsys: Any) -> None:
    def older(numbers: dict[str, Any]) -> None:
        numbers["answer"] = [{"rule": "older", "text": "As it was said then."}]
        del numbers["pooled"]["preferred_first"]
        numbers["configurations"][0]["raters"][0].update(kind="another kind", note="a note of another version")

    assert verify_bundle(copy).reworded == 0
    changed(copy, older)

    call_command("verify_bundle", str(copy))

    assert "follow from the rows; 4 texts are worded otherwise, or new, here" in capsys.readouterr().out


def test_numbers_and_the_names_of_what_they_are_of_that_do_not_follow_are_refused(copy: Path) -> None:
    def other(numbers: dict[str, Any]) -> None:
        one = numbers["configurations"][0]
        one.update(pairs=one["pairs"] + 1, system_a="third")
        one["raters"][1].update(rater="judge:other")
        one["raters"][2].update(counts=None)  # left out
        numbers["table_effect"]["arms"][1].update(arm="placebo:c8")

    changed(copy, other)
    with pytest.raises(BadBundle) as caught:
        verify_bundle(copy)
    first, *told = str(caught.value).splitlines()
    assert first == "5 of numbers.json differ from what follows from the rows:"
    assert sorted(one.partition(", found")[0].strip() for one in told) == [
        "configurations[0].pairs: stated 17",
        'configurations[0].raters[1].rater: stated "judge:other"',
        "configurations[0].raters[2].counts: stated null",
        'configurations[0].system_a: stated "third"',
        'table_effect.arms[1].arm: stated "placebo:c8"',
    ]
