"""Study files: what is taken, and what every bad line is told."""

import csv
import io
import json
from dataclasses import replace

import pytest

from annotation.core.errors import BadFile
from annotation.core.files import lines
from annotation.core.reasons import Reason
from annotation.core.refusals import refusal
from annotation.importing.formats.study_file import InstanceRow
from tests.factories import json_lines, parse_study_file, study_line

GOOD = json.dumps(study_line("good"))


def parse(*text_lines: str | bytes) -> list[InstanceRow]:
    data = b"\n".join(line if isinstance(line, bytes) else line.encode() for line in text_lines)
    return parse_study_file(data, "study.jsonl")


def reasons(data: bytes, name: str = "study.jsonl") -> list[tuple[int, Reason]]:
    with pytest.raises(BadFile) as caught:
        parse_study_file(data, name)
    return [(line.number, line.reason) for line in caught.value.lines]


def test_a_whole_line_is_read_field_by_field() -> None:
    line = study_line(
        "i1",
        dataset="news",
        generations={"alpha": ["one", "two"], "beta": ["three"]},
        gold={"better": "beta"},
        metadata={"any": ["thing", None, 1.5]},
    )

    assert parse(json.dumps(line)) == [InstanceRow(number=1, **line)]


def test_unknown_fields_are_kept_under_metadata() -> None:
    (row,) = parse(json.dumps({**study_line(metadata={"own": 1}), "url": "x", "tokens": [1, 2]}))

    assert row.metadata == {"url": "x", "tokens": [1, 2], "own": 1}


def test_a_line_without_a_data_set_gets_the_one_given() -> None:
    data = json_lines([study_line("a"), study_line("b", dataset="own")])

    assert [row.dataset for row in parse_study_file(data, "f", dataset="given")] == ["given", "own"]


def test_byte_order_mark_crlf_and_blank_lines_are_passed_over() -> None:
    data = b"\xef\xbb\xbf" + GOOD.encode() + b"\r\n\r\n   \n" + json.dumps(study_line("later")).encode()

    assert [(row.number, row.instance_id) for row in parse_study_file(data, "f")] == [(1, "good"), (4, "later")]


@pytest.mark.parametrize(
    "gold",
    [
        *({"better": "alpha"}, {"better": "tie"}, {"scores": {"alpha": 1, "beta": 2.5}}, {"scores": {"alpha": -1}}),
        *({"better": "alpha", "why": "Short."}, {"scores": {"alpha": 1}, "why": "Longer."}),
    ],
    ids=json.dumps,
)
def test_gold_is_taken(gold: dict[str, object]) -> None:
    assert parse(json.dumps(study_line(gold=gold)))[0].gold == gold


@pytest.mark.parametrize("matchups", [None, [], [["beta", "alpha"]], [["alpha ", " beta"]]])
def test_matchups_are_taken_in_their_order(matchups: list[list[str]] | None) -> None:
    [row] = parse_study_file(json_lines([{**study_line(), "matchups": matchups}]), "f.jsonl")
    assert row.matchups == (None if matchups is None else tuple((a.strip(), b.strip()) for a, b in matchups))
    assert row.metadata == {}


@pytest.mark.parametrize(
    "matchups",
    [
        *("alpha", {"alpha": "beta"}, ["alpha", "beta"], [["alpha"]], [["alpha", "alpha"]], [["alpha", "gamma"]]),
        *([["alpha", 1]], [[["alpha"], "beta"]], [["alpha", "beta"], ["beta", "alpha"]], [None]),
    ],
)
def test_matchups_that_name_no_two_systems_of_the_line_are_refused(matchups: object) -> None:
    [(number, reason)] = reasons(json_lines([study_line(), study_line("second", matchups=matchups)]))
    assert number == 2
    assert reason.code in ("matchup_of_others", "matchup_twice", "not_a")


@pytest.mark.parametrize(
    ("line", "reason"),
    [
        pytest.param("{", refusal('not_json_at', error='Expecting property name enclosed in double quotes', column=2), id="cut off"),
        pytest.param("[1]", refusal('not_object'), id="list"),
        pytest.param("7", refusal('not_object'), id="number"),
        pytest.param('{"instance_id": "a", "instance_id": "b"}', refusal('not_json', error="the key 'instance_id' is there more than once"), id="key"),
        pytest.param('{"metadata": {"x": 1, "x": 2}}', refusal('not_json', error="the key 'x' is there more than once"), id="key inside"),
        pytest.param('{"metadata": -Infinity}', refusal('not_json', error='-Infinity is not a number of JSON'), id="infinity"),
        pytest.param('{"metadata": 1e999}', refusal('not_json', error='the number 1e999 is too large'), id="beyond a float"),
        pytest.param('{"metadata": ' + "[" * 100_000 + "]" * 100_000 + "}", refusal('not_json', error='nested more than 100 levels deep'), id="abyss"),
        pytest.param('{"metadata": ' + "[" * 100 + "]" * 100 + "}", refusal('not_json', error='nested more than 100 levels deep'), id="deep"),
        pytest.param(study_line(instance_id=""), refusal('empty', field='instance_id'), id="empty id"),
        pytest.param(study_line(instance_id=1.5), refusal('not_text', field='instance_id', kind='a number'), id="fraction as id"),
        pytest.param(study_line(instance_id=True), refusal('not_text', field='instance_id', kind='true or false'), id="flag as id"),
        pytest.param(study_line(instance_id="x" * 201), refusal('too_long', field='instance_id', number=201, longest=200), id="long id"),
        pytest.param(study_line(instance_id="a\x00b"), refusal('nul_in_text', field='instance_id'), id="NUL in id"),
        pytest.param(study_line(source=None), refusal('missing', field='source'), id="no source"),
        pytest.param(study_line(source="a\x00b"), refusal('nul_in_text', field='source'), id="NUL in source"),
        pytest.param(study_line(source="\ud800"), refusal('surrogate', field='source'), id="surrogate in source"),
        pytest.param(study_line(dataset=""), refusal('empty', field='dataset'), id="empty data set"),
        pytest.param(study_line(dataset="x" * 101), refusal('too_long', field='dataset', number=101, longest=100), id="long data set"),
        pytest.param(study_line(metadata=[1]), refusal('not_a', field='metadata', kind='a JSON object'), id="metadata list"),
        pytest.param(study_line(metadata={"k": {"x": ["\x00"]}}), refusal('unstorable', key="'metadata'"), id="NUL in metadata"),
        pytest.param(study_line(metadata={"k": " \x00 "}), refusal('unstorable', key="'metadata'"), id="NUL and blanks"),
        pytest.param(study_line(metadata={"\udfff": 1}), refusal('unstorable', key="'metadata'"), id="surrogate as key"),
        pytest.param({**study_line(), "url": "\x00"}, refusal('unstorable', key="'url'"), id="NUL in an unknown field"),
        pytest.param(study_line(generations=None), refusal('missing', field='generations'), id="no generations"),
        pytest.param(study_line(generations=["a"]), refusal('not_a', field='generations', kind='a JSON object of system → list of texts'), id="generations list"),
        pytest.param(study_line(generations={"alpha": ["a"]}), refusal('too_few_systems', number=1), id="one system"),
        pytest.param(study_line(generations={"alpha": [], "beta": ["b"]}), refusal('no_text', system="'alpha'"), id="empty list"),
        pytest.param(study_line(generations={"alpha": [None], "beta": ["b"]}), refusal('not_text', field="text 1 of system 'alpha'", kind='null'), id="null text"),
        pytest.param(study_line(generations={"alpha": ["\udc00"], "beta": ["b"]}), refusal('surrogate', field="text 1 of system 'alpha'"), id="surrogate text"),
        pytest.param(study_line(generations={"": ["a"], "beta": ["b"]}), refusal('empty', field="the system name ''"), id="nameless system"),
        pytest.param(study_line(generations={"x" * 201: ["a"], "beta": ["b"]}), refusal('too_long', field="the system name 'xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx'", number=201, longest=200), id="long system"),
        pytest.param(study_line(gold="alpha"), refusal('not_gold'), id="gold text"),
        pytest.param(study_line(gold={}), refusal('not_gold'), id="gold empty"),
        pytest.param(study_line(gold={"better": "alpha", "scores": {}}), refusal('not_gold'), id="gold both"),
        pytest.param(study_line(gold={"better": "gamma"}), refusal('gold_of_other', system="'gamma'"), id="gold stranger"),
        pytest.param(study_line(gold={"better": []}), refusal('gold_of_other', system='[]'), id="gold list"),
        pytest.param(study_line(gold={"scores": {}}), refusal('scores_of_others'), id="no scores"),
        pytest.param(study_line(gold={"scores": {"gamma": 1}}), refusal('scores_of_others'), id="score of stranger"),
        pytest.param(study_line(gold={"scores": {"alpha": "1"}}), refusal('score_not_number', system="'alpha'"), id="score text"),
        pytest.param(study_line(gold={"scores": {"alpha": True}}), refusal('score_not_number', system="'alpha'"), id="score bool"),
        pytest.param(study_line(gold={"scores": {"alpha": 10**400}}), refusal('score_not_number', system="'alpha'"), id="score huge"),
    ],
)  # fmt: skip
def test_a_bad_line_is_listed_with_its_number_and_reason(line: object, reason: Reason) -> None:
    text = line if isinstance(line, str) else json.dumps(line)

    assert reasons(b"\n".join([GOOD.encode(), text.encode()])) == [(2, reason)]


def test_every_bad_line_is_listed_in_the_order_of_the_file() -> None:
    data = b'{"a"\n' + GOOD.encode() + b"\n\xff\n[]\n" + json.dumps(study_line("good")).encode()

    found = reasons(data)

    assert [number for number, _ in found] == [1, 3, 4, 5]
    assert found[1][1] == refusal("not_utf8", byte=1)
    assert found[3][1] == refusal("repeated_on", field="instance_id", value="'good'", line=2)


def test_an_over_long_line_is_named_and_not_read(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(lines, "MAX_LINE_BYTES", 200)
    data = json_lines([study_line("a"), study_line("b", source="x" * 300), study_line("c")])

    assert reasons(data) == [(2, refusal("line_too_long", number=386, most=200))]


@pytest.mark.parametrize("data", [b"", b"\n\n", b"\xef\xbb\xbf"], ids=["empty", "blank", "mark only"])
def test_a_file_without_instances_is_bad(data: bytes) -> None:
    assert reasons(data) == [(1, refusal("no_rows", what="instance"))]


# Wide CSV


def wide(*rows: list[str], end: str = "\r\n") -> bytes:
    out = io.StringIO()
    csv.writer(out, lineterminator=end).writerows(rows)
    return out.getvalue().encode()


HEADER = ["instance_id", "dataset", "source", "alpha/1", "alpha/2", "beta/1"]


@pytest.mark.parametrize("end", ["\n", "\r\n"])
@pytest.mark.parametrize("mark", [b"", b"\xef\xbb\xbf"])
def test_a_wide_csv_says_the_same_as_json_lines(end: str, mark: bytes) -> None:
    data = mark + wide(HEADER, ["i1", "news", "A source,\nof two lines", "one", "two", "three"], end=end)
    same = study_line(
        "i1", dataset="news", source="A source,\nof two lines", generations={"alpha": ["one", "two"], "beta": ["three"]}
    )

    (from_csv,) = parse_study_file(data, "Study.CSV")
    (from_json,) = parse(json.dumps(same))

    assert replace(from_csv, number=from_json.number) == from_json


def test_columns_are_ordered_by_their_number_not_by_their_place() -> None:
    header = ["instance_id", "source", *(f"alpha/{n}" for n in (10, 2, 1, 3, 4, 5, 6, 7, 8, 9)), "beta/1"]
    row = ["i1", "s", *(f"text {n}" for n in (10, 2, 1, 3, 4, 5, 6, 7, 8, 9)), "b"]

    (found,) = parse_study_file(wide(header, row), "f.csv")

    assert found.generations["alpha"] == [f"text {n}" for n in range(1, 11)]


@pytest.mark.parametrize(
    ("cells", "expected"),
    [
        pytest.param(["one", "", "three"], {"alpha": ["one"], "beta": ["three"]}, id="behind the last text: none"),
        pytest.param(["", "two", "three"], {"alpha": ["", "two"], "beta": ["three"]}, id="before a text: an empty one"),
        pytest.param(["one", "two", " "], {"alpha": ["one", "two"], "beta": [" "]}, id="the only cell: an empty one"),
    ],
)
def test_empty_cell_is_a_text_where_nothing_else_can_be_meant(cells: list[str], expected: dict[str, list[str]]) -> None:
    assert parse_study_file(wide(HEADER, ["i1", "", "s", *cells]), "f.csv")[0].generations == expected


@pytest.mark.parametrize("text", ["", " ", "\n\u200b"])
def test_empty_text_is_kept_as_it_is(text: str) -> None:
    (row,) = parse(json.dumps(study_line(generations={"alpha": ["a", text], "beta": ["b"]})))
    assert row.generations == {"alpha": ["a", text], "beta": ["b"]}


def test_csv_lines_are_counted_as_an_editor_does_after_quoted_line_ends() -> None:
    data = wide(
        HEADER,
        ["i1", "", "first\nsecond\r\nthird", "one", "two", "three"],
        ["", "", "s", "one", "two", "three"],
        ["i3", "", "s", "", "", "a\nb"],
        [" ", "", "s", "one", "two", "three"],
    )

    assert reasons(data, "f.csv") == [
        (5, refusal("empty", field="instance_id")),
        (6, refusal("no_text", system="'alpha'")),
        (8, refusal("empty", field="instance_id")),
        (8, refusal("repeated_on", field="instance_id", value="''", line=5)),
    ]


@pytest.mark.parametrize(
    ("data", "number", "reason"),
    [
        pytest.param(wide(HEADER, ["i1", "", "s"]), 2, refusal('cells', cells=3, columns=6), id="short row"),
        pytest.param(b'instance_id,source,a/1,b/1\ni1,"s,x,y\ni2,s,x,y\n', 2, refusal('not_csv_until', error='unexpected end of data', line=3), id="open quote"),
        pytest.param(b'instance_id,source,a/1,b/1\ni1,"s"x,x,y\n', 2, refusal('not_csv', error='\',\' expected after \'"\''), id="text after a quote"),
        pytest.param(b"instance_id,source,a/1,b/1\ni1,s\x00,x,y\n", 2, refusal('nul_character'), id="NUL"),
        pytest.param(b"instance_id,source,a/1,b/1\ni1,s\xff,x,y\n", 2, refusal('not_utf8', byte=5), id="UTF-8"),
        pytest.param(b"instance_id,source,a/1,a/1,b/1\n", 1, refusal('repeated_column', column="'a/1'"), id="twice"),
        pytest.param(b"instance_id,source,a/1\ni1,s,x\n", 1, refusal('columns_of_few_systems', number=1), id="one system"),
        pytest.param(b"instance_id,source,a/1,a/3,b/1\n", 1, refusal('missing_column_of_system', system='a', number=2), id="gap"),
        pytest.param(b"instance_id,source,a/1,b/1,b/0\n", 1, refusal('unknown_column', column="'b/0'"), id="from nought"),
        pytest.param(b"instance_id,source,a/1,b/1,c/99999\n", 1, refusal('unknown_column', column="'c/99999'"), id="huge number"),
        pytest.param(b"source,a/1,b/1\ns,x,y\n", 1, refusal('missing_column', column='instance_id'), id="no id"),
        pytest.param(b"instance_id,source,a/1,b/1,note\n", 1, refusal('unknown_column', column="'note'"), id="stranger"),
        pytest.param(b"instance_id,source,a/1,b/1\n", 1, refusal('no_rows', what='instance'), id="header only"),
    ],
)  # fmt: skip
def test_a_bad_csv_names_the_line(data: bytes, number: int, reason: Reason) -> None:
    assert reasons(data, "f.csv") == [(number, reason)]


def test_mturk_results_are_called_by_their_name() -> None:
    with pytest.raises(BadFile, match=r"line 1: .*MTurk batch results"):
        parse_study_file(b"WorkerId,Input.id1,Answer.pref1\n1,1,1\n", "f.csv")


@pytest.mark.parametrize(
    ("name", "data"),
    [
        pytest.param("f.json", b'[{"instance_id": 7, "source": "s", "generations": {"x": "a;b", "y": ["c"]}}]', id="array"),
        pytest.param("f.jsonl", b'{"instance_id": 7, "source": "s", "generations": {"x": ["a;b"], "y": "c"}}', id="lines"),
        pytest.param("f.csv", b'instance_id,source,x/1,y/1\n7,s,a;b,c\n', id="commas"),
        pytest.param("f.csv", b'instance_id;source;"x/1";y/1\n7;s;"a;b";c\n', id="semicolons"),
        pytest.param("f.csv", b'\xef\xbb\xbfinstance_id\tsource\tx/1\ty/1\r\n7\ts\ta;b\tc\r\n', id="tabs"),
        pytest.param("f.TSV", b'instance_id\tsource\tx/1\ty/1\n7\ts\ta;b\tc\n', id="tsv"),
    ],
)  # fmt: skip
def test_the_same_instance_is_read_from_every_form(name: str, data: bytes) -> None:
    (row,) = parse_study_file(data, name)

    assert (row.instance_id, row.source, row.generations) == ("7", "s", {"x": ["a;b"], "y": ["c"]})


def test_an_empty_source_is_taken_where_there_are_texts() -> None:
    (row,) = parse(json.dumps(study_line(source="")))

    assert row.source == ""
    with pytest.raises(BadFile):
        parse_study_file(json_lines([{"instance_id": "a", "source": ""}]), "f.jsonl", sources_only=True)
