"""The card of a judge: all that a study knows of it, each part with the reason where nothing is known."""

from typing import Any

from annotation.core.version import VERSION
from annotation.models import Study
from annotation.questions.questions import MAIN
from annotation.studies.questions import question_named
from judging.audits.drift import checks_of, pinned
from judging.core.pricing import total_cost
from judging.models import Judge, JudgeAudit, Judgment
from judging.runs.usage import usage_of
from reporting.accuracy.accuracies import NO_ANSWER
from reporting.accuracy.study_accuracy import judge_accuracy
from reporting.audits.stress import stress_findings, stress_tests
from reporting.core.raters import PEOPLE
from reporting.findings.configurations.rater_findings import has_one_pair
from reporting.logic.audits import estimate_of
from reporting.logic.study_audit import audit_study

Card = dict[str, Any]
Part = dict[str, Any]
NO_RUN = "the judge has no verdict on this study"
NOT_COMPUTED = "the findings are being computed"
NO_STRESS = "no stress test was made"
NO_DRIFT = "no check of drift was made"
NO_CALLS = "a jury asks nothing: the calls behind its verdicts are on its members' cards"
ONE_CHECK = "one check of drift was made: a second one shows whether the judge has changed"
NO_LOGIC = "the judge was not asked what shows whether it contradicts itself"
ACCURACIES = ("accuracy", "accuracy_when_orders_agree", "positional_agreement", "first_position_rate")
AGREEMENTS = ("agreement", "people_agreement", "difference", "kappa")
CONSISTENCY = ("mean_consistency", "fully_consistent")
OF_CONFIGURATION = ("mean_preference_strength", "preferred_first")
OF_LENGTH = ("plain", "win_rate_a")
LOGIC = ("transitivity_5", "commutativity", "negation_invariance", "self_agreement", "preferred_first")
PARTS = ("accuracy", "agreement", "consistency", "length", "family", "logic", "stress", "cost", "drift")


def judge_card(study: Study, judge: Judge, findings: dict[str, Any] | None, *, question: int = MAIN) -> Card:
    """Return the card of a judge.

    findings : of the study on this question; None while they are being computed
    A part without numbers has `why` alone; what is not known of a judge is said, never left out.
    """
    asked = study.questions[question]
    return {
        "study": study.slug,
        "judge": judge.name,
        "question": asked.key,
        "version": VERSION,
        "settings": _settings(study, judge),
        "accuracy": _accuracy(study, judge),
        "agreement": _agreement(judge, findings),
        "consistency": _consistency(judge, findings),
        "length": _length(judge, findings),
        "family": _family(judge, findings),
        "logic": _logic(study, judge, question),
        "stress": _stress(study, judge, question),
        "cost": _cost(study, judge),
        "drift": _drift(study, judge, question),
    }


def about_question(study: Study, question: int) -> Any:
    """Return the question that findings are filtered by; None where the study asks only one."""
    return question_named(study, study.questions[question].key)


def _settings(study: Study, judge: Judge) -> Part:
    asked = Judgment.objects.of_every_question().filter(run__study=study, run__judge=judge).exclude(prompt_version="")
    return {
        "method": judge.method,
        "model": judge.endpoint.model if judge.endpoint else None,
        "endpoint": judge.endpoint.name if judge.endpoint else None,
        "table_endpoint": judge.table_endpoint.name if judge.table_endpoint else None,
        "table_model": judge.table_endpoint.model if judge.table_endpoint else None,
        "table_variant": judge.table_variant or None,
        "family": judge.family or None,
        "order": judge.order,
        "combine": judge.combine,
        "repeats": judge.repeats,
        "negated": judge.negated,
        "wording": str(judge.prompt_file) if judge.prompt_file else judge.task or None,
        "system_prompt": judge.system_prompt or None,
        "params": judge.params,
        "seed": judge.seed,
        "prompts": sorted(set(asked.order_by().values_list("prompt_version", flat=True).distinct())),
        "tuned_from": judge.tuned.get("from"),
    }


def _accuracy(study: Study, judge: Judge) -> Part:
    found = judge_accuracy(study)
    (row,) = [
        subset
        for one in found["judges"]
        if one["judge"] == judge.name
        for subset in one["subsets"]
        if subset["kind"] == "all"
    ] or [None]
    return _unknown(found.get("why", NO_ANSWER)) if row is None else _estimates(row, ACCURACIES)


def _agreement(judge: Judge, findings: dict[str, Any] | None) -> Part:
    row = _of_judge(findings, "judges_against_people", judge)
    if row is None:
        return _unknown(NO_RUN if findings else NOT_COMPUTED)
    replacement = _of_judge(findings, "replacement", judge) or {}
    tested = replacement.get("non_inferiority", {}).get("overall", {}).get("difference")
    return {
        "estimates": {
            **_estimates(row["overall"], AGREEMENTS)["estimates"],
            "with_majority": row["overall"]["accuracy"],
            **({"non_inferiority": tested} if tested else {}),
        }
    }


def _consistency(judge: Judge, findings: dict[str, Any] | None) -> Part:
    rows = [
        (one, rater)
        for one in (findings or {}).get("configurations", [])
        for rater in one["raters"]
        if rater["rater"] == f"judge:{judge.name}"
    ]
    if not rows:
        return _unknown(NO_RUN if findings else NOT_COMPUTED)
    told = []
    for one, rater in rows:
        # With one pair an instance, consistency would say only which ratings are ties.
        measures = OF_CONFIGURATION if has_one_pair([one]) else CONSISTENCY + OF_CONFIGURATION
        people = _estimates(one["raters"][0], measures)["estimates"]
        told.append({"configuration": _named(one), **_estimates(rater, measures), PEOPLE: people})
    return {"configurations": told}


def _length(judge: Judge, findings: dict[str, Any] | None) -> Part:
    adjusted = {one["rater"]: one["configurations"] for one in (findings or {}).get("length_adjusted", [])}
    rows = adjusted.get(f"judge:{judge.name}")
    if not rows:
        return _unknown(NO_RUN if findings else NOT_COMPUTED)
    people = {_named(one): _estimates(one, OF_LENGTH)["estimates"] for one in adjusted.get(PEOPLE, [])}
    return {
        "configurations": [
            {
                "configuration": _named(one),
                **_estimates(one, OF_LENGTH),
                "length_effect": one["length_effect"],
                PEOPLE: people.get(_named(one)),
            }
            for one in rows
        ]
    }


def _named(one: dict[str, Any]) -> str:
    return f"{one['dataset']}: {one['system_a']}, {one['system_b']}"


def _family(judge: Judge, findings: dict[str, Any] | None) -> Part:
    row = _of_judge(findings, "self_preference", judge)
    if row is None:
        return _unknown(NO_RUN if findings else NOT_COMPUTED)
    return _estimates(row, ("with_judge", "with_people", "difference"))


def _logic(study: Study, judge: Judge, question: int) -> Part:
    (row,) = audit_study(study, [judge], question=question)["raters"]
    if not row["answers"]:
        return _unknown(NO_LOGIC)
    return {"estimates": {name: estimate_of(row, name) for name in LOGIC}}


def _stress(study: Study, judge: Judge, question: int) -> Part:
    for audit in stress_tests(study):
        if (
            audit.judge_id == judge.pk
            and audit.question == question
            and audit.answers.exclude(status="pending").exists()
        ):
            return {"audit": audit.pk, "found": stress_findings(audit)}
    return _unknown(NO_STRESS)


def _cost(study: Study, judge: Judge) -> Part:
    if judge.is_jury:
        return _unknown(NO_CALLS)
    currency = judge.endpoint.currency if judge.endpoint else ""
    runs = usage_of(Judgment.objects.of_every_question().filter(run__study=study, run__judge=judge), currency)
    audits = JudgeAudit.objects.filter(study=study, judge=judge).order_by()
    spent = list(audits.values_list("calls", "cost"))
    of_audits = total_cost(cost for calls, cost in spent if calls)
    return {
        "currency": currency,
        "verdicts": runs.verdicts,
        "calls": runs.calls,
        "cached": runs.cached,
        "prompt_tokens": runs.prompt_tokens,
        "completion_tokens": runs.completion_tokens,
        "cost": None if runs.cost is None else float(runs.cost),
        "unpriced": runs.unpriced,
        "per_verdict": None if runs.per_verdict is None else float(runs.per_verdict),
        "audit_calls": sum(calls for calls, _ in spent),
        "audit_cost": None if of_audits is None else float(of_audits),
    }


def _drift(study: Study, judge: Judge, question: int) -> Part:
    checks = [one for one in checks_of(study, judge) if one.question == question and one.ended_at is not None]
    if not checks:
        return _unknown(NO_DRIFT)
    last = max(pinned(checks), key=lambda one: one.created_at)
    if last.found is None:
        return _unknown(ONE_CHECK)
    named = ("changed", "by_chance", "beyond_chance")
    return {
        **_estimates(last.found, named),
        "since": last.found["since"],
        "until": last.created_at.isoformat(),
        "drifted": last.found["drifted"],
        "checks": len(checks),
    }


def _of_judge(findings: dict[str, Any] | None, key: str, judge: Judge) -> dict[str, Any] | None:
    return next((one for one in (findings or {}).get(key, []) if one["judge"] == judge.name), None)


def _estimates(row: dict[str, Any], names: tuple[str, ...]) -> Part:
    return {"estimates": {name: row[name] for name in names}}


def _unknown(why: str) -> Part:
    return {"why": why}
