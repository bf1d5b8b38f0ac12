"""Options of files in the API: choices by kind, refusals, and estimates."""

from dataclasses import asdict, fields
from decimal import Decimal
from typing import Any

from django.http import Http404
from rest_framework import serializers

from analysis.ranking.refinement import EQUAL_RATINGS
from annotation.api.bodies import read_form, schema_of
from annotation.core.errors import BadFields
from annotation.models import Study
from annotation.studies.questions import find_question
from judging.audits.on_demand import asker
from judging.calls.adhoc import AdhocRequests
from judging.core.constants import MAX_IN_FLIGHT, MOST_SEED
from judging.core.pricing import check_cap
from judging.core.visibility import judges_seen_by
from judging.endpoints.services import find_endpoint
from judging.tables.entailment_calls import estimate_entailment
from judging.tables.stored_checks import require_tables
from reporting.bundle.layout import CHOICES
from reporting.downloads.jobs import RANKING_LIMITS
from reporting.exports.elsewhere import PEOPLE, WantedVerdicts
from reporting.logic.ranking import METHODS
from reporting.logic.ranking_estimates import estimate_asking
from reporting.logic.stored_ranking import ASKING, STORED, TextRanking, judge_to_ask, judge_with_answers
from reporting.models import MadeFile
from reporting.refinement.given_preferences import count_preferences, refuse_unknown
from reporting.refinement.preferences_form import PreferencesForm
from reporting.refinement.training_files import FORMS as TRAINING

VERDICTS: dict[str, Any] = {"raters": [PEOPLE], "dataset": "", "question": "", "stage": "first"}
CHOICES_OF: dict[str, dict[str, Any]] = {
    MadeFile.Kind.BUNDLE: dict.fromkeys(CHOICES, True),
    MadeFile.Kind.REPORT: {},
    MadeFile.Kind.REFINED: {
        "form": "trl",
        **VERDICTS,
        "method": "win_loss",
        "seed": 0,
        "negated": False,
        "down_sample": False,
        "held_out": 0.0,
    },
    MadeFile.Kind.RANKING: {**asdict(TextRanking()), **STORED, "run": False, **dict.fromkeys(RANKING_LIMITS)},
    MadeFile.Kind.TABLE_CHECKS: {
        "endpoint": "",
        "variant": "",
        "params": {},
        "max_cost": None,
        "in_flight": None,
    },
}


class NewFileSerializer(schema_of(PreferencesForm, partial=True)):  # type: ignore[misc]  # fields of preferences
    """Options of a file, by kind."""

    kind = serializers.ChoiceField(choices=MadeFile.Kind.choices)
    texts = serializers.BooleanField(required=False, help_text="Of a bundle: sources, generations, tables.")
    completions = serializers.BooleanField(required=False, help_text="Of a bundle: raw answers of judges.")
    reasons = serializers.BooleanField(required=False, help_text="Of a bundle: what raters wrote.")
    method = serializers.ChoiceField(choices=list(EQUAL_RATINGS), required=False, help_text="Scores of the repair.")
    seed = serializers.IntegerField(
        min_value=0, max_value=2**32 - 1, required=False, help_text="Of the repair's draws."
    )
    negated = serializers.BooleanField(required=False, help_text="Of refined: each row also with the negated question.")
    down_sample = serializers.BooleanField(required=False, help_text="Of refined: only as many rows as were given.")
    held_out = serializers.FloatField(
        min_value=0, max_value=0.99, required=False, help_text="Of refined: share of instances kept apart."
    )
    judge = serializers.CharField(required=False, help_text="Of a ranking. Default: the only judge with answers.")
    methods = serializers.ListField(
        child=serializers.ChoiceField(choices=list(METHODS)), required=False, min_length=1, max_length=len(METHODS)
    )
    calibrate = serializers.BooleanField(required=False, help_text="Of a ranking: by the mean of both orders.")
    seeds = serializers.IntegerField(
        min_value=1, max_value=1000, required=False, help_text="Of a ranking: number of orders of the texts."
    )
    sample = serializers.IntegerField(min_value=1, required=False, help_text="Of a ranking: number of instances.")
    run = serializers.BooleanField(required=False, help_text="Of a ranking: ask the judge for missing answers.")
    limit = serializers.IntegerField(
        min_value=1, max_value=MOST_SEED, required=False, help_text="Of a ranking that asks: most presentations."
    )
    endpoint = serializers.CharField(required=False, max_length=80, help_text="Of table-checks, which need one.")
    variant = serializers.CharField(required=False, help_text="Of table-checks: only the tables of this variant.")
    params = serializers.DictField(required=False, help_text="Of table-checks: sent with each call.")
    max_cost = serializers.DecimalField(
        required=False,
        max_digits=12,
        decimal_places=6,
        min_value=Decimal(0),
        help_text="Of files that need calls: cost cap.",
    )
    in_flight = serializers.IntegerField(required=False, min_value=1, max_value=MAX_IN_FLIGHT)


def options_of(data: dict[str, Any]) -> tuple[str, dict[str, Any]]:
    """Return the kind of file that a request asks for, and all of its choices.

    Raises: BadFields for choices of other kinds.
    """
    kind = data.pop("kind")
    if kind == MadeFile.Kind.PREFERENCES:
        return kind, read_form(PreferencesForm, data).cleaned_data
    if foreign := [name for name in data if name not in CHOICES_OF[kind]]:
        raise BadFields({name: [f"This is no option of kind {kind}."] for name in foreign})
    usual = CHOICES_OF[kind] | (ASKING if data.get("run") else {})
    if kind == MadeFile.Kind.RANKING and not data.get("run") and (limits := set(RANKING_LIMITS) & set(data)):
        raise BadFields({name: ["Only of a ranking with run, which asks the judge."] for name in limits})
    return kind, {**usual, **data}


def refuse_unknown_names(study: Study, kind: str, options: dict[str, Any], user: Any) -> None:
    """Refuse what the study doesn't have before it is queued. Amounts of money become text, as they are stored.

    Raises: Http404; UnknownName; BadFields; BadSettings.
    """
    if "raters" in options:
        names = (item.name for item in fields(WantedVerdicts) if item.name in options)
        refuse_unknown(study, WantedVerdicts(**{name: options[name] for name in names}))
    if kind == MadeFile.Kind.REFINED and options["form"] not in TRAINING:
        raise BadFields({"form": [f"Of repaired preferences one of {', '.join(TRAINING)}."]})
    if kind == MadeFile.Kind.RANKING:
        _check_ranking(study, options, user)
    if kind == MadeFile.Kind.TABLE_CHECKS:
        endpoint = find_endpoint(options["endpoint"])
        check_cap(options["max_cost"], endpoint)
        AdhocRequests(endpoint, params=options["params"])
    if options.get("max_cost") is not None:
        options["max_cost"] = str(options["max_cost"])


def _check_ranking(study: Study, options: dict[str, Any], user: Any) -> None:
    question = find_question(study, options["question"]).number
    refuse_unknown(study, WantedVerdicts(dataset=options["dataset"]))
    if not options["run"]:
        judge_with_answers(study, options["judge"], question)
        return
    if options["judge"] and not judges_seen_by(user).filter(name=options["judge"]).exists():
        raise Http404(f"no judge {options['judge']}")
    judge = judge_to_ask(study, options["judge"], question)
    asker(judge)
    check_cap(options["max_cost"], *judge.endpoints)


def estimated(study: Study, kind: str, options: dict[str, Any]) -> dict[str, Any]:
    """Return what a file takes for which a model is asked, or the rows of preferences.

    Raises: BadFields for another one; BadSettings; AnnotationError where there is nothing to ask.
    """
    if kind == MadeFile.Kind.RANKING and options["run"]:
        ranking = TextRanking(**{name: options[name] for name in asdict(TextRanking())})
        judge, estimate = estimate_asking(study, ranking, limit=options["limit"])
        return {"judge": judge.name, **estimate.as_dict()}
    if kind == MadeFile.Kind.PREFERENCES:
        return {"rows": count_preferences(study, options.pop("form"), WantedVerdicts(**options))}
    if kind == MadeFile.Kind.TABLE_CHECKS:
        require_tables(study, options["variant"])
        settings = {name: options[name] for name in ("variant", "params")}
        return estimate_entailment(study, endpoint=find_endpoint(options["endpoint"]), **settings).as_dict()
    raise BadFields({"kind": ["Only of preferences, a ranking with run, and table-checks."]})
