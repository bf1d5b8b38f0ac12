"""A bundle's numbers and readable rows follow from its records, and nothing changed in it goes unnoticed."""

import gzip
import hashlib
import json
import re
import shutil
import zipfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pyarrow.parquet as pq
import pytest
from django.core.management import CommandError, call_command
from django.db import transaction

from annotation.core.reasons import reason
from annotation.models import Study
from reporting.bundle import verifying
from reporting.bundle.importing import import_bundle
from reporting.bundle.layout import BadBundle, Contents, row_file
from reporting.bundle.numbers import PAGES, Numbers, all_numbers
from reporting.bundle.opening import open_bundle
from reporting.bundle.records import TABLES
from reporting.bundle.rows import READABLE
from reporting.bundle.verifying import compare_here, refuse_differences, verify_bundle
from reporting.exports.folders import sha256_of
from tests.reporting.bundle.conftest import build_small, written

pytestmark = [pytest.mark.django_db, pytest.mark.slow]


def stated(folder: Path) -> dict[str, Any]:
    found: dict[str, Any] = json.loads((folder / "numbers.json").read_text(encoding="utf-8"))
    return found


def unpacked(folder: Path) -> str:
    files = [path for path in folder.rglob("*") if path.is_file() and "prompts" not in path.parts]
    return "\n".join(_text_of(one) for one in files)


def _text_of(path: Path) -> str:
    if path.suffix == ".parquet":
        return json.dumps(pq.read_table(path).to_pylist(), ensure_ascii=False)
    return (gzip.decompress(path.read_bytes()) if path.suffix == ".gz" else path.read_bytes()).decode()


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


REFUSED = r"differ from what follows|is not what follows|can't be stored"


def flipped(row: dict[str, Any]) -> dict[str, Any]:
    """Turn the verdict of a rating or judgment."""
    return row | {name: -1 if row[name] != -1 else 1 for name in ("rating", "verdict") if row.get(name) is not None}


def without_last(data: bytes) -> bytes:
    return gzip.compress(b"".join(gzip.decompress(data).splitlines(keepends=True)[:-1]))


def relist(folder: Path, name: str) -> None:
    """Let the manifest state the rows that a file has."""
    manifest = json.loads((folder / "manifest.json").read_bytes())
    manifest["files"][name]["rows"] = len(gzip.decompress((folder / name).read_bytes()).splitlines())
    (folder / "manifest.json").write_text(json.dumps(manifest))


computed: dict[tuple[str, ...], Numbers] = {}  # by the records


def verified(folder: Path) -> int:
    """Verify a bundle in this process, as another one does it on a database of its own; compute numbers once for the same records."""
    open_bundle(folder).check_files()
    records = tuple(sha256_of(path) for path in (folder / "study.json", *sorted(folder.glob("records/*"))))

    def compute_once(study: Study, contents: Contents) -> Numbers:
        return computed.get(records) or computed.setdefault(records, all_numbers(study, contents))

    with transaction.atomic(), pytest.MonkeyPatch.context() as patch:
        patch.setattr(verifying, "all_numbers", compute_once)
        try:
            return compare_here(folder)
        finally:
            transaction.set_rollback(True)


ROW_FILES = [*READABLE, *(table.name for table in TABLES)]
# Nothing that a bundle states depends on the last row of these: they only make the study again.
UNSTATED = {
    f"records/{name}"
    for name in (
        *("armdraw", "channel", "consent", "display", "generationrun", "hitpair", "importrecord"),
        *("qualificationresult", "rationalemark", "slot", "tablecheck", "tablemaking"),
    )
}


@pytest.mark.parametrize("name", ROW_FILES)
def test_a_missing_row_is_refused(whole_bundle: Path, tmp_path: Path, name: str) -> None:
    file, copy = row_file(name), shutil.copytree(whole_bundle, tmp_path / "copy")
    assert json.loads((copy / "manifest.json").read_bytes())["files"][file]["rows"], "the bundle has no such row"
    rewrite(copy, file, without_last)
    with pytest.raises(BadBundle, match=r"has \d+ rows, not as many as"):
        verified(copy)
    relist(copy, file)
    if name in UNSTATED:
        assert verified(copy) == 0
    else:
        with pytest.raises(BadBundle):
            verified(copy)


VERDICTS = ("ratings", "history", "judgments", "records/rating", "records/votechange", "records/judgment")


@pytest.mark.parametrize("name", VERDICTS)
def test_a_flipped_verdict_is_refused(whole_bundle: Path, tmp_path: Path, name: str) -> None:
    copy = shutil.copytree(whole_bundle, tmp_path / "copy")
    rewrite(copy, row_file(name), in_row(flipped))
    with pytest.raises(BadBundle, match=REFUSED):
        verified(copy)


OTHER_TEXTS = {"first-system": ["x", "y", "z"]}


@pytest.mark.parametrize(
    ("name", "change"),
    [
        pytest.param("pairs", lambda row: row | {"length_a": row["length_a"] + 1}, id="length"),
        pytest.param("instances", lambda row: row | {"generations": row["generations"] | OTHER_TEXTS}, id="text"),
        pytest.param("instances", lambda row: row | {"metadata": {"tags": ["other"]}}, id="tags"),
        pytest.param("pairs", lambda row: row | {"id": row["id"] + 1}, id="key of a pair"),
        pytest.param("separability", lambda row: row | {"self_a": 1 - row["self_a"]}, id="alignment"),
        pytest.param("judgments", lambda row: row | {"status": "refused", "verdict": None}, id="status"),
        pytest.param("records/slot", lambda row: row | {"assignment": None}, id="slot"),
        pytest.param("records/annotator", lambda row: row | {"excluded": True}, id="excluded"),
        pytest.param("records/judgment", lambda row: row | {"repeat": row["repeat"] + 7}, id="repeat"),
        pytest.param("records/rationalemark", lambda row: row | {"sound": not row["sound"]}, id="mark"),
        pytest.param("records/judge", lambda row: row | {"task": f"task {row['id']}"}, id="task"),
        pytest.param("records/tablemaking", lambda row: row | {"table": None}, id="table made"),
        pytest.param("ratings", lambda row: row | {"active_seconds": 1000.5}, id="seconds"),
        *(
            pytest.param(
                "completions", lambda row, field=field: row | {field: 7 if "tokens" in field else "x"}, id=field
            )
            for field in ("served_model", "fingerprint", "provider", "prompt_tokens", "expected_prompt_tokens")
        ),
    ],
)
def test_rows_that_say_something_else_are_refused(
    copy: Path, name: str, change: Callable[[dict[str, Any]], dict[str, Any]]
) -> None:
    rewrite(copy, row_file(name), in_every_row(change))
    with pytest.raises(BadBundle, match=REFUSED):
        verified(copy)


@pytest.mark.parametrize("change", ["amendments", "questions", "systems"])
def test_a_changed_description_of_the_study_is_refused(copy: Path, change: str) -> None:
    rewrite(copy, "study.json", lambda data: json.dumps(json.loads(data) | {change: []}).encode())
    if change == "amendments":
        rewrite(copy, "study.json", lambda data: json.dumps(json.loads(data) | {change: [{}]}).encode())
    with pytest.raises(BadBundle, match=r"study\.json is not what follows"):
        verified(copy)


def test_no_text_is_in_a_bundle_without_texts(bare_bundle: Path) -> None:
    told = unpacked(bare_bundle)
    assert [text for text in ("text 0", "clear", "[[A]]", "metadata 0") if text in told] == []
    assert {"with_reason", "table_verdict"} & set(stated(bare_bundle)["table_effect"]["arms"][1]) == {"with_reason"}
    with pytest.raises(BadBundle, match="holds no texts"):
        import_bundle(bare_bundle, slug="bare")


def test_clusters_outlive_their_texts(tmp_path: Path, module_rows: None) -> None:
    def build_repeated() -> Study:
        study = build_small()
        study.instances.filter(position__lt=2).update(source="one text")
        return study

    folder = written(build_repeated, tmp_path / "repeated", Contents(texts=False))
    assert "one text" not in unpacked(folder)
    clusters = stated(folder)["clusters"]
    assert clusters == {"instances": 4, "clusters": 3}
    assert verified(folder) == 0


def test_a_changed_length_is_refused_where_texts_stayed_at_home(bare_bundle: Path, tmp_path: Path) -> None:
    copy = shutil.copytree(bare_bundle, tmp_path / "copy")
    assert verified(copy) == 0
    rewrite(copy, "pairs.jsonl.gz", in_row(lambda row: row | {"length_b": row["length_b"] + 1}))
    with pytest.raises(BadBundle):
        verified(copy)


def test_another_process_verifies_without_the_database(copy: Path, django_assert_num_queries: Any) -> None:
    with django_assert_num_queries(0):
        assert verify_bundle(copy).reworded == 0
        rewrite(copy, "ratings.jsonl.gz", in_row(flipped))
        with pytest.raises(BadBundle) as refused:
            verify_bundle(copy)
    assert refused.value.reason == reason("row_differs", file="ratings.jsonl.gz", number=1)


def test_records_that_nothing_can_be_computed_from_are_refused(copy: Path) -> None:
    rewrite(copy, "study.json", lambda data: b"[]")
    with pytest.raises(BadBundle) as refused:
        verify_bundle(copy)
    assert refused.value.reason.code == "numbers_not_computed"
    assert str(refused.value.reason.values["error"]).startswith("TypeError")


def test_a_rating_that_was_changed_in_the_records_is_named_by_the_numbers_that_it_moves(copy: Path) -> None:
    rewrite(copy, "records/rating.jsonl.gz", in_every_row(lambda row: row | {"verdict": -row["verdict"]}))
    with pytest.raises(BadBundle, match=r"configurations\[\d\]\.raters\[0\].*stated .*, found ") as refused:
        verified(copy)
    assert "more" in str(refused.value)


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
        pytest.param(lambda copy: listed(copy, format_version=4), "reads format 3", id="newer"),
        pytest.param(lambda copy: listed(copy, format_version=2), "reads format 3", id="older"),
        pytest.param(
            lambda copy: listed(copy, format_version="\ud800", software_version="\udfff"),
            r"format \?, written by Tandem \?;",
            id="format that can't be stored",
        ),
        pytest.param(lambda copy: named(copy, "../outside"), "can be no file of a bundle", id="path out"),
        pytest.param(lambda copy: named(copy, "/etc/passwd"), "can be no file of a bundle", id="absolute path"),
        pytest.param(lambda copy: named(copy, "n" * 256), "n is missing", id="long name"),
        pytest.param(link, "flags.jsonl.gz is a symbolic link", id="link"),
        pytest.param(lambda copy: (copy / "manifest.json").write_text("[1"), "not valid JSON", id="no manifest"),
        pytest.param(lambda copy: listed(copy, kind="other"), "not that of a bundle", id="another thing"),
        pytest.param(
            lambda copy: rewrite(copy, "ratings.jsonl.gz", lambda data: gzip.compress(gzip.decompress(data)[:-20])),
            r"ratings.jsonl.gz: row \d+ is not what follows",
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
        verified(copy)


def test_a_name_that_is_too_long_is_no_folder(tmp_path: Path) -> None:
    with pytest.raises(CommandError, match="is no folder"):
        call_command("verify_bundle", str(tmp_path / ("n" * 256)))


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


def test_numbers_by_other_code_are_compared_and_its_words_are_counted(copy: Path) -> None:
    def older(numbers: dict[str, Any]) -> None:
        numbers["answer"] = [{"rule": "older", "text": "As it was said then."}]
        del numbers["pooled"]["preferred_first"]
        numbers["configurations"][0]["raters"][0].update(kind="another kind", note="a note of another version")

    changed(copy, older)

    assert verified(copy) == 4


def test_numbers_and_the_names_of_what_they_are_of_that_do_not_follow_are_refused(small_bundle: Path) -> None:
    numbers = stated(small_bundle)
    one = numbers["configurations"][0]
    one.update(pairs=one["pairs"] + 1, system_a="third")
    one["raters"][1].update(rater="judge:other")
    one["raters"][2].update(counts=None)  # left out
    numbers["table_effect"]["arms"][1].update(arm="placebo:c8")

    with pytest.raises(BadBundle) as caught:
        refuse_differences(numbers, stated(small_bundle), "numbers_not_of_rows")
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
        verified(copy)
    first, *told = str(caught.value).splitlines()
    assert first == f"{len(parts)} of numbers.json differ from what follows from the rows:"
    assert {re.split(r"\W", one.strip())[0] for one in told} == set(parts)
