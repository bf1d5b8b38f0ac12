"""Every asking method over a real small language model, through the real engine. Mechanics only: which verdict is no matter.

A model of this size hardly compares texts. What must hold all the same: its answers are read, each presentation ends
in a state, nothing is asked more often than the method says, and nothing is paid twice.
"""

import json
import time
from collections import Counter, defaultdict
from collections.abc import Callable, Mapping
from typing import Any

import pytest
from django.core.management import call_command

from annotation.batches.services import set_batch_status
from annotation.core.errors import InvalidSelection
from annotation.importing.formats.study_file import InstanceRow
from annotation.models import Batch, ComparisonTable, Study
from judging.methods import find_method, method_names
from judging.models import AspectSet, Completion, Endpoint, Judgment
from tests.factories import add_instances, make_batch, make_study
from tests.llm.conftest import Row, SmallModel

PAIRS, PAIRS_OF_TABLES, FEW_PAIRS = 10, 6, 4
ATTEMPTS, ATTEMPT = 3, 1_000_000  # how often a question is asked at most; how far its samples are apart
SAMPLES, TABLES = 3, 4  # that methods draw: each is read as the others are; of three tables, too few can be read
OUTCOMES = ("a", "tie", "b", "unparsed", "refused", "errors")
ASKING = [name for name in method_names() if find_method(name).needs_endpoint]

# What a cell asks, by kind of call, when each answer can be read: (made for each cell, made once and reused).
CALLS: Mapping[str, dict[str, int]] = {
    "direct": {"verdict": 1},
    "direct-aspects": {"verdict": 1},
    "cot": {"verdict": 1},
    "cot-1shot": {"verdict": 1},
    "few-shot": {"verdict": 1},
    "self-consistency": {"verdict": SAMPLES},
    "pointwise": {"score": 2},
    "pairwise": {"verdict": 1},
    "pairwise-tie": {"verdict": 1},
    "pairwise-cot": {"verdict": 1},
    "pros-cons": {"verdict": 1},
    "prepair": {"critique": 2, "verdict": 1},
    "prepair-star": {"critique": 1, "verdict": 1},
    "sgm": {"metrics": 1, "verdict": 1},
    "sgm-prepair": {"metrics": 1, "critique": 2, "verdict": 1},
    "ranked-list": {"verdict": 1},
    "ranked-function": {"verdict": 1},
    "token-preference": {"verdict": 1},
    "reference": {"reference": 1, "verdict": 1},
    "sc2": {"table": TABLES, "comparator": TABLES - 1, "verdict": 1},
}
MOST_TOKENS = 40  # of one answer; long enough for the answer forms, short enough for two cores
# Grammars that hold the model to an answer form, by method or parser: by itself it keeps to one now and then only, and
# procedures would be seen to end unparsed. It still chooses every word and letter.
GRAMMARS: Mapping[str, str] = {
    "verdict-line": r'root ::= [^\n[]{1,80} "\nPreferred: " [AB]',  # no bracket: it would copy the fence of a text
    "token-preference": "root ::= [AB]",
    "pointwise": r'root ::= [^\n[]{1,40} "\nScore: " [1-5]',
    "ranked-list": r'root ::= "[{\"name\": \"text_" ("1\", \"rank\": 1}, {\"name\": \"text_2\", \"rank\": 2}]" | "2\", \"rank\": 1}, {\"name\": \"text_1\", \"rank\": 2}]")',
}
# A table's schema bounds its cells, as the endpoint's test finds that the server keeps to that.
ASPECTS = ["what they do", "why"]
FOR_TABLES = [("longest_cell", 40), ("max_tokens", 300)]
# Methods that are held to their form by a JSON schema, as the endpoint's test finds that the server offers, with the limit on
# their answers. SC²'s comparator has no schema: where its answer can't be read, a coin decides.
BY_SCHEMA: Mapping[str, int] = {"direct": 400, "pairwise": MOST_TOKENS, "pairwise-tie": MOST_TOKENS, "sc2": 300}
# The model's server takes no grammar beside functions, and its model calls none by itself.
FOR_FUNCTION = [("max_tokens", MOST_TOKENS)]
# How many pairs need not come out parsed: none, as every answer has the form that was asked for, but those that are cut
# off at the limit, and tables that have an aspect twice. Of functions there is no call to be read here: the scripted tests
# read them.
LOST: Mapping[str, int] = {"direct": 2, "sc2": 4, "ranked-function": PAIRS}

# Five short talks with two summaries each, written for this test.
TALKS = (
    ("Ada: The ferry is late again. Ben: Then let us walk to the museum.", "They walk, as the ferry is late.", "Ada and Ben wait for the ferry."),
    ("Cid: I sold the old piano. Dora: To whom? Cid: To the school.", "Cid sold his piano to the school.", "Dora bought a piano."),
    ("Eve: Rain until Friday. Finn: So we paint the fence on Saturday.", "They paint on Saturday, after the rain.", "It rains."),
    ("Gil: The bread did not rise. Hana: The yeast was too old.", "Old yeast spoilt the bread.", "Hana baked a good bread."),
    ("Ida: My train leaves at six. Jon: I can drive you at five.", "Jon drives Ida to her six o'clock train.", "Jon takes a train at five."),
)  # fmt: skip


@pytest.fixture
def study(transactional_db: None) -> Study:
    """Ten pairs."""
    return study_of(PAIRS)


def study_of(pairs: int) -> Study:
    """Make a study of so many pairs: talks with two summaries from either system, the other way round the second time."""
    rows = [
        InstanceRow(
            number=line,
            instance_id=f"talk-{line}",
            dataset="talks",
            source=talk,
            generations={"alpha": [good, poor], "beta": [poor, good]},
        )
        for line, (talk, good, poor) in enumerate(TALKS[: pairs // 2], start=1)
    ]
    return add_instances(make_study(slug="talks", instances=0, task_kind="summarization"), rows)


def params_of(method: str) -> list[tuple[str, object]]:
    """Return what is sent with each call."""
    if method == "sc2":
        return [("verdict_schema", "auto"), ("samples", TABLES), ("aspects", ASPECTS), *FOR_TABLES]
    if method in BY_SCHEMA:
        return [("verdict_schema", "auto"), ("max_tokens", BY_SCHEMA[method])]
    if method == "ranked-function":
        return list(FOR_FUNCTION)
    samples = [("samples", SAMPLES)] if method == "self-consistency" else []
    return [*samples, ("max_tokens", MOST_TOKENS), ("grammar", GRAMMARS[form_of(method)])]


def form_of(method: str) -> str:
    """Return the form of a method's answers, which a grammar may stand for."""
    return method if method in GRAMMARS else getattr(find_method(method), "parser", "")


def pairs_for(method: str) -> int:
    """Return how many pairs a method judges: few where its answers are of the form in which those of another one are read."""
    if method == "sc2":
        return PAIRS_OF_TABLES  # whose tables take the most time
    return FEW_PAIRS if form_of(method) == "verdict-line" and method not in ("cot", *BY_SCHEMA) else PAIRS


def held_to_its_form(method: str) -> str:
    """Say by what the model is held to the method's answer form; empty if by nothing, so that its answers are not read."""
    return "JSON schema" if method in BY_SCHEMA else "" if method == "ranked-function" else "grammar"


def run(judge: str, capsys: pytest.CaptureFixture[str]) -> dict[str, Any]:
    """Let a judge rate the study's pairs; returns what `run_status` says then."""
    try:
        call_command("run_judge", "talks", judge=judge, in_flight=2)
    except SystemExit as stopped:  # by Ctrl-C or SIGTERM, which it takes for itself: no further method is tried then
        pytest.exit("stopped", returncode=int(str(stopped.code)))
    capsys.readouterr()
    call_command("run_status", "talks", judge=judge, format="json")
    status: dict[str, Any] = json.loads(capsys.readouterr().out)
    return status


def questions(cell: Judgment) -> dict[str, int]:
    """Count the different questions that a cell asked, by kind; each was asked up to three times, one after the other."""
    attempts = defaultdict(set)
    for one in cell.completions.all():
        attempt, sample = divmod(one.sample, ATTEMPT)
        attempts[one.kind, sample, json.dumps(one.request["messages"])].add(attempt)
    assert all(made == set(range(len(made))) and len(made) <= ATTEMPTS for made in attempts.values())
    asked: dict[str, int] = defaultdict(int)
    for kind, _sample, _messages in attempts:
        asked[kind] += 1
    return dict(asked)


@pytest.mark.parametrize("method", ASKING)
def test_every_cell_ends_and_nothing_is_asked_twice(
    method: str,
    transactional_db: None,
    small_model: SmallModel,
    key_name: str,
    say_row: Callable[[Row], None],
    capsys: pytest.CaptureFixture[str],
    settings: Any,
) -> None:
    settings.ENDPOINT_ALLOWLIST = ["127.0.0.1"]
    pairs = pairs_for(method)
    fewest = pairs - LOST.get(method, 0)
    study_of(pairs)
    call_command("add_endpoint", "small", base_url=small_model.base_url, model="smollm2", key_env=key_name, timeout=600)
    call_command("test_endpoint", "small")
    assert Endpoint.objects.get().supports["json_schema"] is True
    for name in ("first", "twin"):
        call_command("add_judge", name, method=method, endpoint="small", order="ab", seed=7, param=params_of(method))

    small_model.tokens()  # it is there still; a run would wait for it patiently
    started = time.monotonic()
    status = run("first", capsys)
    seconds = time.monotonic() - started
    done = small_model.tokens()

    parsed = sum(status[name] for name in ("a", "tie", "b"))
    form = held_to_its_form(method)
    figures = (pairs, parsed, fewest, status["unparsed"], status["refused"], status["calls"], f"{seconds:.0f}")
    say_row((method, form or "nothing", "yes" if form and parsed >= fewest else "NO", *map(str, figures)))
    assert status["asked"] == pairs == sum(status[name] for name in OUTCOMES)
    assert status["errors"] == 0, Judgment.objects.filter(status="error").values_list("failure", flat=True)
    assert not Judgment.objects.filter(status="pending").exists()
    assert parsed >= fewest, set(Judgment.objects.exclude(failure="").values_list("failure", flat=True))
    for cell in Judgment.objects.all():
        asked = questions(cell)
        if cell.status == Judgment.Status.PARSED:
            assert cell.calls == cell.completions.count()
            lost = sum("lost" in sample for sample in cell.making.record["samples"]) if method == "sc2" else 0
            assert asked == Counter(CALLS[method]) - Counter(comparator=lost)
        else:  # it may have ended while another call was under way, whose answer is kept and not used
            assert 0 < cell.calls <= cell.completions.count()
            assert all(number <= CALLS[method].get(kind, 0) for kind, number in asked.items()), asked

    firsts = [one for one in Completion.objects.exclude(cache_key=None) if one.sample < ATTEMPT]
    assert len({(one.sample, json.dumps(one.request["messages"])) for one in firsts}) == len(firsts)

    assert run("first", capsys)["calls"] == status["calls"]
    assert small_model.tokens() == done

    stored = Completion.objects.exclude(cache_key=None).count()
    twin = run("twin", capsys)
    assert Completion.objects.exclude(cache_key=None).count() == stored
    if not twin["refused"]:  # a refusal is kept, but never reused
        assert small_model.tokens() == done
    assert [twin[name] for name in OUTCOMES] == [status[name] for name in OUTCOMES]


def test_tables_of_a_small_model_reach_people(
    transactional_db: None, small_model: SmallModel, key_name: str, capsys: pytest.CaptureFixture[str], settings: Any
) -> None:
    settings.ENDPOINT_ALLOWLIST = ["127.0.0.1"]
    study = study_of(PAIRS)
    call_command("add_endpoint", "small", base_url=small_model.base_url, model="smollm2", key_env=key_name, timeout=600)
    call_command("test_endpoint", "small")
    AspectSet.objects.create(group=study.group, task="summarization", version=1, aspects=ASPECTS)
    options = {"endpoint": "small", "samples": 3, "in_flight": 2, "format": "json"}
    params = list(FOR_TABLES)

    def make() -> dict[str, Any]:
        capsys.readouterr()
        call_command("make_tables", "talks", param=params, **options)
        told: dict[str, Any] = json.loads(capsys.readouterr().out)
        return told

    told = make()
    assert told["pairs"] == PAIRS == told["tables"] + told["marked"]
    assert told["tables"] == ComparisonTable.objects.filter(study=study, variant="c3-v1").count() > 0
    for table in ComparisonTable.objects.all():
        assert [row["aspect"] for row in table.rows] == table.aspects == ASPECTS
    done = small_model.tokens()
    assert make()["made_calls"] == 0
    assert small_model.tokens() == done
    call_command("configure_study", "talks", "protocol=two-stage", "arms=none,table:c3-v1")
    lacking = PAIRS - told["tables"]
    study.refresh_from_db()
    batch = make_batch(study, dataset="talks", status=Batch.Status.DRAFT)
    if lacking:
        with pytest.raises(InvalidSelection, match=f"{lacking} of {PAIRS} pairs"):
            set_batch_status(batch=batch, status=Batch.Status.OPEN)
    else:
        set_batch_status(batch=batch, status=Batch.Status.OPEN)
