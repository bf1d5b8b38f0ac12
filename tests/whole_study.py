"""A group with people in every role, and a study with something of every kind; all its texts and names bear a mark."""

from dataclasses import dataclass, replace
from typing import Any

from django.contrib.auth.models import User
from django.utils import timezone

from annotation.annotators.consent import answer_consent
from annotation.importing.formats.study_file import InstanceRow
from annotation.members.accounts import annotator_for
from annotation.members.groups import create_group
from annotation.models import (
    Annotator,
    Assignment,
    Batch,
    Channel,
    ComparisonTable,
    Event,
    Flag,
    Message,
    ResearchGroup,
    RoleGrant,
    Study,
)
from annotation.models.members import Role
from annotation.recruitment.channels import make_channel
from annotation.recruitment.invitations import invite
from annotation.separability.services import compute_separability
from annotation.studies.log import log
from annotation.studies.services import record_import
from judging.models import Judge, JudgeRun, PromptFile, TableMaking
from judging.wordings.prompt_files import add_prompt
from judging.wordings.prompt_text import PromptText
from tests.factories import add_instances, claim, instance_rows, make_batch, make_study, rate
from tests.fakes import ScriptedClient
from tests.judging.builders import judge_with, make_endpoint, make_judge

ROLES = (Role.ANNOTATOR, Role.RESEARCHER, Role.STUDY_ADMIN)
RAW = "</textarea><i>raw</i>"  # in the texts, which no page takes for markup


@dataclass(eq=False)
class Whole:
    """One group's study, and what stands in the addresses of its pages."""

    mark: str
    group: ResearchGroup
    study: Study
    batch: Batch
    people: dict[str, User]
    annotator: Annotator
    open_hit: Assignment
    first_hit: Assignment
    judge: Judge
    run: JudgeRun
    prompt: PromptFile
    making: TableMaking
    blocked: Annotator
    channel: Channel
    token: str
    anonymous: Channel


def member(name: str, *roles: str, group: ResearchGroup | None = None, study: Study | None = None) -> User:
    """Make an account with roles in a group, or in one study."""
    user = User.objects.create_user(name)
    RoleGrant.objects.bulk_create(RoleGrant(user=user, role=role, group=group, study=study) for role in roles)
    return user


def build_whole_study(mark: str, **settings: Any) -> Whole:
    """Make it all, through services. The first HIT is of the qualification; a rating HIT is open."""
    group = create_group(slug=f"{mark}-group", name=f"The {mark} group")
    people = {role.value: member(f"{mark}-{role.value}", role, group=group) for role in ROLES}
    study = _study(mark, group, settings)
    rating = make_batch(study, name=f"{mark}-batch", **_of(mark), select="ids", instance_ids=_ids(mark, "news"))
    make_batch(
        study,
        name=f"{mark}-questions",
        purpose="qualification",
        **_of(mark),
        select="ids",
        instance_ids=_ids(mark, "known", 1),
    )
    compute_separability(study=study, similarity="rouge1", group="configuration")
    annotator = annotator_for(user=people[Role.ANNOTATOR], study=study)
    now = timezone.now()
    answer_consent(annotator=annotator, accepted=True, at=now)
    first = rate(claim(annotator, now), at=now)
    rate(claim(annotator, now), ["left", "right"], at=now)
    judge, run = _judged(mark, study)
    _spoken_of(mark, study, annotator, people[Role.STUDY_ADMIN])
    channel = make_channel(study=study, kind="accounts", name=f"{mark}-channel", options={}, is_open=True)
    [link] = invite(channel=channel, count=1, base_url="http://testserver", at=now)
    token = link.link.rstrip("/").rsplit("/", 1)[-1]
    still_open = claim(annotator, now)
    return Whole(
        mark=mark,
        group=group,
        study=study,
        batch=rating,
        people=people,
        annotator=annotator,
        open_hit=still_open,
        first_hit=first,
        judge=judge,
        run=run,
        prompt=_prompt(mark, group),
        making=_making(mark, study, run),
        blocked=Annotator.objects.create(study=study, code=f"{mark}-blocked", kind="imported", blocked_at=now),
        channel=channel,
        token=token,
        anonymous=make_channel(study=study, kind="anonymous", name=f"{mark}-open", options={}, is_open=True),
    )


def _study(mark: str, group: ResearchGroup, settings: dict[str, Any]) -> Study:
    told = ("title", "question", "guidelines", "contact", "label_left", "label_right", "source_label")
    named = {name: f"{mark} {name} {RAW}" for name in told}
    study = make_study(
        f"{mark}-study",
        instances=0,
        **{**named, "group": group, "qualification_share": 0.0, "pay_per_hit": 1, "currency": "EUR", **settings},
    )
    known = {"better": f"{mark}-alpha", "why": f"{mark} reason {RAW}"}
    add_instances(
        study,
        [
            *(_with(row) for row in instance_rows(instances=3, **_of(mark, alone=False))),
            *(
                _with(row, known)
                for row in instance_rows(instances=1, prefix=f"{mark}-known", **_of(mark, alone=False))
            ),
        ],
    )
    record_import(study=study, kind="study", name=f"{mark}.jsonl", data=b"", counts={"instances": 3})
    return study


def _with(row: InstanceRow, gold: dict[str, str] | None = None) -> InstanceRow:
    """Return an instance whose texts aren't all alike, for their similarity to be normalised."""
    words = ["one", "two", "three", "four", "five", "six", "seven", "eight", "nine"]
    texts = {
        system: [
            f"{text} {RAW} {' '.join(words[: row.number * (place + 1)])}" for place, text in enumerate(generations)
        ]
        for system, generations in row.generations.items()
    }
    return replace(row, source=f"{row.source} {RAW}", generations=texts, gold=gold)


def _of(mark: str, *, alone: bool = True) -> dict[str, Any]:
    found: dict[str, Any] = {"dataset": f"{mark}-news", "systems": (f"{mark}-alpha", f"{mark}-beta")}
    return {**found, "pairs": 2, "raters": 2} if alone else found


def _ids(mark: str, prefix: str, count: int = 3) -> list[str]:
    return [f"{mark}-{prefix}-{number}" for number in range(1, count + 1)]


def _judged(mark: str, study: Study) -> tuple[Judge, JudgeRun]:
    # A number needs no look-up; a scripted client doesn't go there either.
    endpoint = make_endpoint("https://1.1.1.1/v1", name=f"endpoint-{study.pk}")
    judge = make_judge(name=f"{mark}-judge", endpoint=endpoint, family=f"{mark}-family")
    judge_with(ScriptedClient(then=f"Comparison: {mark} {RAW}.\nPreferred: A"), study, judge)
    return judge, JudgeRun.objects.get(study=study)


def _making(mark: str, study: Study, run: JudgeRun) -> TableMaking:
    """Store how a table was made, as if the judge had made it."""
    row = {"aspect": f"{mark} aspect {RAW}", "only_a": f"{mark} cell {RAW}", "both": "", "only_b": ""}
    record = {
        "scheme": "random",
        "aspects": {"how": "fixed", "chosen": [row["aspect"]]},
        "samples": [{"rows": [row]}, {"lost": f"{mark} lost {RAW}"}],
        "budget": None,
        "left_over": 0,
        "schema": False,
        "asked_first": "a",
        "bracket": [],
        "wins": [None, None],
        "coins": 0,
        "winner": 0,
        "calls": {"aspects": 0, "table": 2, "comparator": 0, "verdict": 1},
    }
    table = study.tables.earliest("pk")
    return TableMaking.objects.create(judgment=run.judgments.earliest("pk"), table=table, record=record)


def _prompt(mark: str, group: ResearchGroup) -> PromptFile:
    """Add a wording of the group's own."""
    text = f"{mark} wording {RAW} [$fence begin]\n$source\nA: $first\nB: $second\nVerdict: $letters"
    return add_prompt(prompt=PromptText(text), name=f"{mark}-prompt", parser="verdict-line", group=group)[0]


def _spoken_of(mark: str, study: Study, annotator: Annotator, admin: User) -> None:
    """Add what people said: a flag, a message, a line of the log; and a comparison table."""
    now = timezone.now()
    rated = annotator.assignments.filter(purpose="rating").earliest("pk")
    display = rated.displays.select_related("pair").earliest("pk")
    Flag.objects.create(display=display, kind="other", comment=f"{mark} comment {RAW}", flagged_at=now)
    Message.objects.create(annotator=annotator, text=f"{mark} message {RAW}", sent_at=now)
    log(
        study=study,
        kind=Event.Kind.AMENDMENT,
        by=admin,
        reason=f"{mark} reason {RAW}",
        changes={"title": ["a", f"{mark} {RAW}"]},
    )
    ComparisonTable.objects.create(
        study=study,
        table_id=f"{mark}-table",
        pair=display.pair,
        variant=f"{mark}-variant",
        made_by={"judge": RAW},
        aspects=[f"{mark} aspect {RAW}"],
        rows=[{"aspect": f"{mark} aspect {RAW}", "only_a": [RAW], "both": [RAW], "only_b": [RAW]}],
    )
