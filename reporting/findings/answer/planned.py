"""Claims that were planned, and those that are exploratory: findings compared with the plan that was frozen before the first vote."""

from collections.abc import Iterator, Mapping
from typing import Any

from reporting.core.raters import PEOPLE
from reporting.core.text import rater_name
from reporting.findings.data.inputs import Filters, Planned

Findings = Mapping[str, Any]
PLANNED, EXPLORATORY = "planned", "exploratory"
NO_PLAN = "No plan was frozen before the first vote; all claims are exploratory."
# The claims that the rules of the answer test, by their codes in `CLAIMS`; other rules claim nothing.
_RULES = {
    "preference": "preferred no_preference first leads",
    "agreement": "agreement_above_chance agreement_by_chance agreement_not_shown",
    "consistency": "rises",
    "replacement": "judge_may judge_may_from judge_worse judges_worse judge_open judges_open",
    "length": "length_moves length_newly length_no_longer length_turned length_some",
    "judges_preference": "judge_alone judges judges_differ",
    "position": "position_bias no_position_bias",
}
CLAIM_OF_RULE = {rule: claim for claim, rules in _RULES.items() for rule in rules.split()}
_LABELS = {
    "bins": "Bins of separability",
    "datasets": "Data sets",
    "epsilon": "ε",
    "judges_agreement": "Agreement of judges",
    "judges_preference": "Preference of judges",
    "judgments": "Judgments before the plan",
    "pairs": "Pairs an instance",
    "question": "Key of the question",
    "raters": "Raters a pair",
}
_ABOUT_PEOPLE = ("preference", "agreement", "consistency")
_OF_JUDGES = {"judges", "judge_settings"}  # deviations that leave those planned
_ABOUT_JUDGES = ("judges_preference", "position")  # known in part from judgments before the plan
_COUNTED = {
    "imported": "{n} ratings were imported, so nothing shows that they are later than the plan.",
    "undated": "{n} ratings have no time.",
    "earlier": "{n} ratings are older than the plan.",
    "excluded": "{n} submitted HITs are excluded, alone or with their rater.",
    "amended": "{n} amendments of the protocol or of a stop rule are later than the first rating.",
}
_NOT_FILTERS = ("level", "question", "systems", "epsilon", "bins", "judges")  # the plan states its own, or there is one


def plan_findings(planned: Planned | None, findings: Findings, rated: int) -> dict[str, Any] | None:
    """Return the frozen plan with how the findings deviate from it, or None without one.

    rated : number of instances on which people's ratings count
    """
    if planned is None:
        return None
    return {**planned.plan, "deviations": list(_deviations(planned, findings, rated))}


def status_of(claim: str | None, findings: Findings) -> str:
    """Say whether a claim was planned. Empty without a plan, and for what claims nothing."""
    plan = findings.get("plan")
    if not plan or claim is None:
        return ""
    content = plan["content"]
    deviates = any(item["code"] not in _OF_JUDGES or claim not in _ABOUT_PEOPLE for item in plan["deviations"])
    is_known = claim in _ABOUT_JUDGES and content["judgments"] > 0
    return PLANNED if claim in content["claims"] and not deviates and not is_known else EXPLORATORY


def plan_notes(findings: Findings) -> list[str]:
    """Return sentences on the plan: that there is none, or when it was frozen, and each deviation."""
    plan = findings.get("plan")
    if not plan:
        return [NO_PLAN]
    frozen = f"A plan was frozen on {plan['frozen_at'][:16].replace('T', ' ')} UTC (SHA-256 {plan['sha256']})."
    notes, codes = [frozen], {item["code"] for item in plan["deviations"]}
    if codes:
        which = "all claims but those about people alone" if codes <= _OF_JUDGES else "all claims"
        notes.append(f"These findings deviate from the plan, so {which} are exploratory.")
    if (judgments := plan["content"]["judgments"]) and set(_ABOUT_JUDGES) & set(plan["content"]["claims"]):
        notes.append(
            f"{judgments} judgments are older than the plan, so those about judges alone or positions are exploratory."
        )
    return [*notes, *(item["text"] for item in plan["deviations"])]


def plan_facts(content: Mapping[str, Any]) -> list[tuple[str, str]]:
    """Return what a plan states, as labels and texts."""
    named = {**content, "claims": [_label(claim).lower() for claim in content["claims"]]}
    return [(_label(name), value_text(value)) for name, value in named.items()]


def _deviations(planned: Planned, findings: Findings, rated: int) -> Iterator[dict[str, Any]]:
    plan, filters = planned.content, findings["filters"]
    if planned.is_altered:
        yield {"code": "altered", "text": "The stored plan no longer has its hash."}
    for code, text in _COUNTED.items():
        if number := getattr(planned, code):
            yield {"code": code, "found": number, "planned": 0, "text": text.format(n=number)}
    configurations = findings["configurations"]
    compared = {
        "question": filters.get("question", plan["question"]),
        "systems": sorted({item[side] for item in configurations for side in ("system_a", "system_b")}),
        # The numbers of instances say where one is missing.
        "datasets": sorted({item["dataset"] for item in configurations} | set(plan.get("datasets", []))),
        "judge_settings": planned.judge_settings,
        "epsilon": filters["epsilon"],
        "bins": filters["bins"],
        "judges": sorted(
            {rater_name(row["rater"]) for item in configurations for row in item["raters"] if row["rater"] != PEOPLE}
        ),
    }
    for name, actual in compared.items():
        if actual != plan.get(name, actual):
            yield _differs(name, actual, plan[name], f"{_label(name)}: {value_text(actual)}")
    # A stop rule may end a study before the planned number.
    raters, may_be_fewer = plan["raters"], bool(plan["stop_rule"])
    if others := sum(n > raters or (n < raters and not may_be_fewer) for n in planned.submitted):
        text = f"The plan has {raters} raters; {others} of {len(planned.submitted)} instances have another number."
        yield {"code": "submitted", "found": others, "planned": 0, "text": text}
    is_fewer = rated < plan["instances"] and not may_be_fewer and bool(rated or planned.batches)
    if rated > plan["instances"] or is_fewer:
        text = f"The plan has {plan['instances']} instances; {rated} have been rated."
        yield {"code": "instances", "found": rated, "planned": plan["instances"], "text": text}
    for batch in planned.batches:
        for name, actual in batch.items():
            if name != "batch" and actual != plan[name]:
                subject = f"Batch {batch['batch']}, {_label(name).lower()}: {value_text(actual)}"
                yield {**_differs(name, actual, plan[name], subject), "batch": batch["batch"]}
    for name, default in Filters().as_json().items():
        if name not in _NOT_FILTERS and filters[name] != default:
            yield _differs(name, filters[name], default, f"Filter {_label(name).lower()}: {value_text(filters[name])}")


def _differs(code: str, actual: Any, planned: Any, subject: str) -> dict[str, Any]:
    return {
        "code": code,
        "found": actual,
        "planned": planned,
        "text": f"{subject}; the plan has {value_text(planned)}.",
    }


def _label(name: str) -> str:
    return _LABELS.get(name) or name.replace("_", " ").capitalize()


def value_text(value: Any) -> str:
    """Return a planned or actual value for a sentence."""
    if isinstance(value, bool):
        return "on" if value else "off"
    if isinstance(value, list | tuple):
        return ", ".join(map(str, value)) or "none"
    if isinstance(value, Mapping):
        return ", ".join(f"{key} {part}" for key, part in value.items()) or "none"
    return "none" if value in (None, "") else str(value)
