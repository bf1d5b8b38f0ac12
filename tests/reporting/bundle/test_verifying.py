"""A bundle's numbers follow from its rows, and nothing changed in it goes unnoticed."""

import gzip
import hashlib
import json
import re
import shutil
import zipfile
from collections.abc import Callable
from operator import itemgetter
from pathlib import Path
from typing import Any

import pytest
from django.core.management import CommandError, call_command

from reporting.bundle.layout import BadBundle
from reporting.bundle.numbers import OF_PAGES, PAGES, Numbers, Source, filters_of_numbers, table_effect
from reporting.bundle.opening import open_bundle
from reporting.bundle.study_data import BundledStudy
from reporting.bundle.verifying import refuse_differences, verify_bundle
from reporting.findings.computing import compute_estimates

pytestmark = [pytest.mark.django_db, pytest.mark.slow]


def stated(folder: Path) -> dict[str, Any]:
    found: dict[str, Any] = json.loads((folder / "numbers.json").read_text(encoding="utf-8"))
    return found


@pytest.mark.weekly
def test_verifying_reads_no_database(small_bundle: Path, django_assert_num_queries: Any) -> None:
    with django_assert_num_queries(0):
        assert verify_bundle(small_bundle).reworded == 0


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


def estimates(source: Source) -> Numbers:
    """Compute the findings without intervals and tests."""
    filters = filters_of_numbers()
    return compute_estimates(source.data(filters), filters)


@pytest.mark.parametrize(
    ("name", "change", "compute"),
    [
        pytest.param("judgments.jsonl.gz", turned("repeat"), OF_PAGES["logic"], id="repeated answer"),
        pytest.param("judgments.jsonl.gz", turned("negated"), OF_PAGES["logic"], id="negated answer"),
        pytest.param(
            "separability.jsonl.gz",
            lambda data: gzip.compress(gzip.decompress(data).replace(b'"separability":0', b'"separability":7')),
            estimates,
            id="alignment",
        ),
        pytest.param(
            "judgments.jsonl.gz",
            in_row(lambda row: {**row, "status": "refused", "verdict": None}),
            estimates,
            id="verdict",
        ),
        pytest.param("records/slot.jsonl.gz", in_row(lambda row: {**row, "assignment": None}), estimates, id="slot"),
        pytest.param(
            "records/annotator.jsonl.gz", in_every_row(lambda row: {**row, "excluded": True}), estimates, id="excluded"
        ),
    ],
)
def test_rows_that_say_something_else_change_numbers(
    small_bundle: Path, copy: Path, name: str, change: Callable[[bytes], bytes], compute: Callable[[Source], Any]
) -> None:
    rewrite(copy, name, change)
    as_written, found = (compute(BundledStudy(open_bundle(folder))) for folder in (small_bundle, copy))
    with pytest.raises(BadBundle, match="differ from what follows from the rows"):
        refuse_differences({"part": as_written}, {"part": found}, "from the rows")


@pytest.mark.parametrize(
    ("name", "change"),
    [
        pytest.param("pairs.jsonl.gz", in_row(lambda row: {**row, "length_a": 5000}), id="length"),
        pytest.param(
            "instances.jsonl.gz",
            in_row(lambda row: {**row, "generations": {**row["generations"], "first-system": ["x", "y", "z"]}}),
            id="text",
        ),
    ],
)
def test_lengths_are_those_of_the_texts_even_with_the_right_hash(
    copy: Path, name: str, change: Callable[[bytes], bytes]
) -> None:
    rewrite(copy, name, change)
    with pytest.raises(BadBundle, match=r"not that of its text"):
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


def test_rows_that_say_something_else_change_what_tables_change(copy: Path, small_bundle: Path) -> None:
    def changed_arm(file: str, which: Callable[[dict[str, Any]], object], **change: Any) -> dict[str, Any]:
        shutil.copytree(small_bundle, copy, dirs_exist_ok=True)
        places = [place for place, row in enumerate(open_bundle(copy).rows(file)) if which(row)]
        rewrite(copy, f"{file}.jsonl.gz", in_row(lambda row: {**row, **change}, *places))
        arms = {one["arm"]: one for one in table_effect(BundledStudy(open_bundle(copy)))["arms"]}
        found: dict[str, Any] = arms.get("table:c8", {"decisions": 0})  # an arm without decisions is left out
        return found

    said = stated(small_bundle)["table_effect"]["arms"][1]
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


def test_an_archive_is_verified_as_the_page_of_files_gives_it(small_bundle: Path, tmp_path: Path, capsys: Any) -> None:
    packed = shutil.make_archive(str(tmp_path / "bundle"), "zip", small_bundle.parent, small_bundle.name)
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

    changed(copy, older)

    call_command("verify_bundle", str(copy))

    assert "follow from the rows; 4 texts are worded otherwise, or new, here" in capsys.readouterr().out


def test_numbers_and_the_names_of_what_they_are_of_that_do_not_follow_are_refused(small_bundle: Path) -> None:
    numbers = stated(small_bundle)
    one = numbers["configurations"][0]
    one.update(pairs=one["pairs"] + 1, system_a="third")
    one["raters"][1].update(rater="judge:other")
    one["raters"][2].update(counts=None)  # left out
    numbers["table_effect"]["arms"][1].update(arm="placebo:c8")

    with pytest.raises(BadBundle) as caught:
        refuse_differences(numbers, stated(small_bundle), "from the rows")
    first, *told = str(caught.value).splitlines()
    assert first == "5 of numbers.json differ from what follows from the rows:"
    assert sorted(one.partition(", found")[0].strip() for one in told) == [
        "configurations[0].pairs: stated 13",
        'configurations[0].raters[1].rater: stated "judge:other"',
        "configurations[0].raters[2].counts: stated null",
        'configurations[0].system_a: stated "third"',
        'table_effect.arms[1].arm: stated "placebo:c8"',
    ]


def one_more(found: Any) -> bool:
    """Add one to the first number in it, and tell whether there is one."""
    for key, value in found.items() if isinstance(found, dict) else enumerate(found):
        if type(value) in (int, float):
            found[key] = value + 1
            return True
        if isinstance(value, dict | list) and one_more(value):
            return True
    return False


def test_every_part_of_the_numbers_is_computed_again(copy: Path) -> None:
    parts = (
        "configurations",
        "pooled",
        "rankings",
        "win_matrices",
        "raters",
        "judges_against_people",
        "others",
        *PAGES,
    )

    def other(numbers: dict[str, Any]) -> None:
        assert all(one_more(numbers[name]) for name in parts)

    changed(copy, other)
    with pytest.raises(BadBundle) as caught:
        verify_bundle(copy)
    first, *told = str(caught.value).splitlines()
    assert first == f"{len(parts)} of numbers.json differ from what follows from the rows:"
    assert {re.split(r"\W", one.strip())[0] for one in told} == set(parts)


@pytest.mark.parametrize(
    "field", ["served_model", "fingerprint", "provider", "prompt_tokens", "expected_prompt_tokens"]
)
def test_who_answered_is_not_changed_unnoticed(copy: Path, field: str) -> None:
    change = {field: 7 if field.endswith("tokens") else "another"}
    rewrite(copy, "completions.jsonl.gz", in_every_row(lambda row: {**row, **change}))
    with pytest.raises(BadBundle, match=r"provenance\["):
        verify_bundle(copy)
