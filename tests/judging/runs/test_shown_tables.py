"""SC² judges that are shown stored tables, as another model has made them, and make none."""

from typing import Any

import pytest

from annotation.core.reasons import reason
from annotation.models import ComparisonTable, Study
from judging.core.errors import BadSettings
from judging.models import Judge, Judgment, TableMaking
from judging.review.replaying import replay
from judging.runs.estimates import estimate
from judging.runs.judges import add_judge
from judging.runs.services import start_run
from tests.fakes import ScriptedClient
from tests.judging.builders import judge_with, make_endpoint, make_study, pairs_in

pytestmark = pytest.mark.django_db
ROW = {"aspect": "tone", "only_a": "the heron is loud", "both": "both are birds", "only_b": "the wren is shy"}


@pytest.fixture
def study() -> Study:
    """Make a study of two pairs, of which the first has tables of two variants."""
    made = make_study(instances=2, k=1)
    pair = pairs_in(made)[0]
    for table_id, variant, row in (("t2", "big", {**ROW, "both": "no"}), ("t1", "big", ROW), ("t0", "other", {})):
        ComparisonTable.objects.create(study=made, table_id=table_id, pair=pair, variant=variant, rows=[row])
    return made


def added(**settings: Any) -> Judge:
    judge, _ = add_judge(
        **{
            "name": "shown",
            "method": "sc2",
            "endpoint": make_endpoint(),
            "order": "both",
            "table_variant": "big",
            **settings,
        }
    )
    return judge


@pytest.mark.slow
def test_verdict_is_asked_with_the_stored_table_and_nothing_else_is(study: Study) -> None:
    client, judge = ScriptedClient(["Preferred: A"] * 2), added()
    judge_with(client, study, judge)
    first, second = (body["messages"][0]["content"] for body in client.bodies)
    assert "only A: the heron is loud\n  both: both are birds\n  only B: the wren is shy" in first
    assert "only A: the wren is shy\n  both: both are birds\n  only B: the heron is loud" in second  # B was shown first
    made = Judgment.objects.order_by("pair", "order")
    assert [(one.verdict, one.status, one.calls) for one in made] == [
        *((-1, "parsed", 1), (1, "parsed", 1)),
        *((None, "unparsed", 0), (None, "unparsed", 0)),
    ]
    assert made[2].failure == reason("no_table_of_variant", variant="big")
    assert made[0].prompt_version == "tables-big+sc2.v2+summarization.v1"
    assert [step.status for step in replay(made[1]).steps] == ["read"]
    assert not TableMaking.objects.exists()
    assert estimate(study=study, judge=judge, questions=[0]).pending == 0


def test_estimate_counts_the_verdicts_alone(study: Study) -> None:
    assert [(kind.kind, kind.calls) for kind in estimate(study=study, judge=added()).kinds] == [("verdict", 2)]


@pytest.mark.parametrize(
    ("settings", "reason"),
    [
        pytest.param({"params": {"samples": 4}}, "leave out samples", id="samples"),
        pytest.param({"method": "direct"}, "method direct shows no comparison table", id="another method"),
    ],
)
def test_settings_that_contradict_stored_tables_are_refused(settings: dict[str, Any], reason: str) -> None:
    with pytest.raises(BadSettings, match=reason):
        added(**settings)


def test_study_without_such_tables_is_refused() -> None:
    with pytest.raises(BadSettings, match="has no tables of variant big"):
        start_run(study=make_study(), judge=added())
