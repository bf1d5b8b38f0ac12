"""A study's plan, frozen before the first vote. It stands in the study's log, whose rows are never changed."""

import hashlib
import json
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any

from django.contrib.auth.models import User
from django.db import transaction

from annotation.core.errors import InvalidSelection
from annotation.models import Batch, Event, Rating, Study
from annotation.studies.log import log

# Claims of the findings by their codes.
CLAIMS = {
    "preference": "Which system is preferred, or first",
    "agreement": "Raters agree more than by chance",
    "consistency": "Raters are more consistent where texts are easier to tell apart",
    "replacement": "Which judges can replace a rater",
    "length": "Length changes the preference",
    "judges_preference": "Which system judges prefer, where no person rates",
    "position": "The text shown first or second is preferred",
}
_KINDS = (Event.Kind.PLANNED, Event.Kind.UNPLANNED)


@dataclass(frozen=True)
class FrozenPlan:
    """A frozen plan as it is stored: `text` is canonical JSON, `sha256` the hash that was stored beside it."""

    text: str
    sha256: str
    frozen_at: datetime

    @property
    def content(self) -> dict[str, Any]:
        """What is planned, by name."""
        content: dict[str, Any] = json.loads(self.text)
        return content

    @property
    def is_altered(self) -> bool:
        """Tell whether the text no longer has its hash."""
        return hash_of(self.text) != self.sha256

    def as_json(self) -> dict[str, Any]:
        """Return the plan with its hash and time (UTC)."""
        frozen_at = self.frozen_at.astimezone(UTC).isoformat(timespec="seconds")
        return {"sha256": self.sha256, "frozen_at": frozen_at, "content": self.content}


def canonical(content: Mapping[str, Any]) -> str:
    """Return JSON with sorted keys and without spaces: equal plans have equal texts, and so equal hashes."""
    return json.dumps(content, ensure_ascii=False, allow_nan=False, sort_keys=True, separators=(",", ":"))


def hash_of(text: str) -> str:
    """Return the SHA-256 of a plan's text in UTF-8, as hexadecimal digits."""
    return hashlib.sha256(text.encode()).hexdigest()


def frozen_plan(study: Study) -> FrozenPlan | None:
    """Return the plan of a study, or None where none was frozen, or it was withdrawn."""
    event = study.events.filter(kind__in=_KINDS).order_by("pk").last()
    if event is None or event.kind == Event.Kind.UNPLANNED:
        return None
    return FrozenPlan(event.changes["plan"], event.changes["sha256"], event.happened_at)


def content_today(study: Study, plan: FrozenPlan) -> dict[str, Any]:
    """Return what is planned, with systems and judges that were renamed since under their present names."""
    content = plan.content
    renamed = study.events.filter(kind=Event.Kind.RENAMED, happened_at__gte=plan.frozen_at).order_by("pk")
    for changes in renamed.values_list("changes", flat=True):
        for noun, (before, after) in changes.items():
            if f"{noun}s" in content:
                content[f"{noun}s"] = sorted(after if name == before else name for name in content[f"{noun}s"])
            if noun == "judge" and before in content.get("judge_settings", {}):
                content["judge_settings"][after] = content["judge_settings"].pop(before)
            if content["stop_rule"] == f"{noun}:{before}":
                content["stop_rule"] = f"{noun}:{after}"
    return content


@transaction.atomic
def freeze_plan(
    *, study: Study, content: Mapping[str, Any], by: User | None = None, at: datetime | None = None
) -> FrozenPlan:
    """Freeze a plan and log it.

    Raises: InvalidSelection where there are ratings or another plan.
    """
    study = Study.objects.select_for_update().get(pk=study.pk)
    _refuse_votes(study)
    if frozen_plan(study):
        raise InvalidSelection(f"study {study.slug} has a frozen plan, which can't be changed; withdraw it first")
    text = canonical(content)
    event = log(study=study, kind=Event.Kind.PLANNED, by=by, at=at, changes={"plan": text, "sha256": hash_of(text)})
    return FrozenPlan(text, hash_of(text), event.happened_at)


@transaction.atomic
def withdraw_plan(*, study: Study, reason: str = "", by: User | None = None) -> None:
    """Withdraw the frozen plan and log it. The plan itself stays in the log.

    Raises: InvalidSelection where there is no plan, or there are ratings.
    """
    study = Study.objects.select_for_update().get(pk=study.pk)
    plan = frozen_plan(study)
    if plan is None:
        raise InvalidSelection(f"study {study.slug} has no frozen plan")
    _refuse_votes(study)
    log(study=study, kind=Event.Kind.UNPLANNED, by=by, reason=reason, changes={"sha256": plan.sha256})


def has_votes(study: Study) -> bool:
    """Tell whether people rated, here or elsewhere, also where their import was taken back.

    Qualifications and hidden checks don't count.
    """
    if study.events.filter(kind=Event.Kind.TAKEN_BACK, changes__kind="ratings").exists():
        return True
    batches = Batch.objects.filter(study=study, purpose=Batch.Purpose.RATING)
    return Rating.objects.filter(display__assignment__hit__batch__in=batches).exists()


def _refuse_votes(study: Study) -> None:
    if has_votes(study):
        raise InvalidSelection(
            f"study {study.slug} has ratings; a plan can be frozen or withdrawn only before the first one"
        )
