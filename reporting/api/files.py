"""Files of a study in the API: rows in long form, and bundles and reports that the worker makes."""

from dataclasses import asdict, fields
from typing import Any

from django import forms
from django.http import Http404, HttpResponseBase
from django.urls import reverse
from drf_spectacular.types import OpenApiTypes
from drf_spectacular.utils import OpenApiParameter
from rest_framework import serializers, status
from rest_framework.exceptions import ParseError
from rest_framework.request import Request
from rest_framework.response import Response

from annotation.api.answers import MESSAGE, WithMessage, answers, work
from annotation.api.bodies import ManagedStudies, body_of, needed_text, read_form, schema_of, user_of
from annotation.core.errors import BadFields
from annotation.models import Study
from annotation.studies.questions import find_question
from judging.audits.on_demand import asker
from judging.calls.requests import AdhocRequests
from judging.core.fields import AskingForm
from judging.core.pricing import check_cap
from judging.core.visibility import judges_seen_by
from judging.endpoints.services import find_endpoint
from judging.tables.entailment_calls import estimate_entailment, require_tables
from judging.tables.forms import CheckTablesForm
from reporting.api.rows import KEY
from reporting.downloads.jobs import RANKING_LIMITS, files_of, queue_file, remove_file
from reporting.downloads.views import BundleForm, find_file, packed
from reporting.exports.elsewhere import WantedVerdicts
from reporting.exports.files import FORMATS, KINDS
from reporting.exports.views import CONTENT_TYPES, rows_response
from reporting.logic.forms import RankForm
from reporting.logic.stored_ranking import TextRanking, estimate_asking, judge_to_ask, judge_with_answers
from reporting.models import MadeFile
from reporting.refinement.given_preferences import count_preferences, refuse_unknown
from reporting.refinement.preferences_form import PreferencesForm, RefineForm


class RankingFile(RankForm):
    """A ranking from stored answers, or from those that are asked for."""

    run = forms.BooleanField(required=False, label="Ask the judge for missing answers")


FORMS: dict[str, type[forms.Form]] = {
    MadeFile.Kind.BUNDLE: BundleForm,
    MadeFile.Kind.REPORT: forms.Form,
    MadeFile.Kind.PREFERENCES: PreferencesForm,
    MadeFile.Kind.REFINED: RefineForm,
    MadeFile.Kind.RANKING: RankingFile,
    MadeFile.Kind.TABLE_CHECKS: CheckTablesForm,
}


class NewFileSerializer(*(schema_of(form, partial=True) for form in FORMS.values())):  # type: ignore[misc]
    """Options of a file, by kind."""

    kind = serializers.ChoiceField(choices=MadeFile.Kind.choices)


def asked_file(request: Request, study: Study) -> tuple[Study, str, dict[str, Any]]:
    """Return the kind of file that a request asks for of a study, and all of its choices.

    Amounts of money become text, as they are stored.
    Raises: BadFields, also for choices of other kinds; Http404, UnknownName and BadSettings for what the study doesn't have.
    """
    body = body_of(request)
    kind = needed_text(body, "kind")
    if kind not in FORMS:
        raise BadFields({"kind": [f"Unknown kind of file. Allowed: {', '.join(FORMS)}."]})
    of_study: dict[str, Any] = {"study": study} if issubclass(FORMS[kind], AskingForm) else {}
    form = read_form(FORMS[kind], body, **of_study)
    options = form.cleaned_data
    if isinstance(form, RankingFile):
        is_asking, limits = form.cleaned_data["run"], set(RANKING_LIMITS) & set(body)
        if limits and not is_asking:
            raise BadFields({name: ["Only of a ranking with run, which asks the judge."] for name in limits})
        options = {**asdict(form.ranking(is_asking=is_asking)), **form.named("run", *RANKING_LIMITS)}
        _check_ranking(study, options, request.user)
    if isinstance(form, CheckTablesForm):
        endpoint = options["endpoint"]
        check_cap(options["max_cost"], endpoint)
        AdhocRequests(endpoint, params=options["params"])
        options = {**options, "endpoint": endpoint.name}
    if "raters" in options:
        names = (item.name for item in fields(WantedVerdicts) if item.name in options)
        refuse_unknown(study, WantedVerdicts(**{name: options[name] for name in names}))
    if options.get("max_cost") is not None:
        options["max_cost"] = str(options["max_cost"])
    return study, kind, options


def _check_ranking(study: Study, options: dict[str, Any], user: Any) -> None:
    question = find_question(study, options["question"]).number
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


PACKED = "application/zip"
FORMAT = OpenApiParameter("format", str, enum=FORMATS, description="Default: csv.")
ROWS: Any = {(200, kind.partition(";")[0]): OpenApiTypes.BINARY for kind in CONTENT_TYPES.values()}


class MadeFileSerializer(WithMessage, serializers.ModelSerializer[MadeFile]):
    """A file that a worker creates, with its progress."""

    study = serializers.CharField(source="study.slug", read_only=True)
    options = serializers.JSONField(read_only=True)
    status = serializers.CharField(source="outcome", read_only=True, help_text="queued, running, done or failed.")
    asked_at = serializers.DateTimeField(source="created_at", read_only=True)
    finished_at = serializers.DateTimeField(source="ended_at", read_only=True, allow_null=True)
    content = serializers.SerializerMethodField(help_text="The address of the zip file, once it is done.")

    class Meta:
        model = MadeFile
        fields = [
            *("key", "study", "kind", "options", "status", "done", "total", "size", *MESSAGE),
            *("asked_at", "finished_at", "content"),
        ]

    def get_content(self, file: MadeFile) -> str | None:
        """Return the address of a file that is there."""
        is_there = file.status == MadeFile.Status.DONE
        return reverse("api:study-file-content", args=[file.study.slug, file.key]) if is_there else None


class StudyFiles(ManagedStudies):
    """Exports of rows, and files that a worker creates; for readers of the study."""

    @work(ROWS, refused=(409,), path=rf"exports/(?P<kind>{'|'.join(KINDS)})", parameters=[FORMAT])
    def exports(self, request: Request, slug: str, kind: str) -> HttpResponseBase:
        """Stream the rows of one kind, as `manage.py export_study` writes them."""
        form = request.query_params.get("format", "csv")
        if form not in FORMATS:
            raise ParseError(f"format must be one of {', '.join(FORMATS)}")
        response: HttpResponseBase = rows_response(self.get_object(), kind, form)
        return response

    @work(MadeFileSerializer(many=True))
    def files(self, request: Request, slug: str) -> Response:
        """List the files that were asked for, the latest first, with the progress of those that are being made."""
        return Response(MadeFileSerializer(files_of(self.get_object()), many=True).data)

    @answers(MadeFileSerializer, 202, body=NewFileSerializer, refused=(413, 422))
    @files.mapping.post
    def make_file(self, request: Request, slug: str) -> Response:
        """Queue a file of one kind. Asking for the same while it is under way changes nothing."""
        file, _ = queue_file(*asked_file(request, self.get_object()), user_of(request))
        return Response(MadeFileSerializer(file).data, status=status.HTTP_202_ACCEPTED)

    @work(body=NewFileSerializer, methods=["post"], path="files/estimate")
    def estimate_file(self, request: Request, slug: str) -> Response:
        """Estimate what a file takes for which a model is asked: `ranking` with `run`, `table-checks`; the rows of `preferences`. No call is made."""
        return Response(estimated(*asked_file(request, self.get_object())))

    @work(MadeFileSerializer, path=rf"files/(?P<key>{KEY})")
    def file(self, request: Request, slug: str, key: str) -> Response:
        """Return one file and its progress."""
        return Response(MadeFileSerializer(find_file(self.get_object(), key)).data)

    @answers(None, 204)
    @file.mapping.delete
    def remove_file(self, request: Request, slug: str, key: str) -> Response:
        """Remove a file that was made."""
        remove_file(find_file(self.managed(), key))
        return Response(status=status.HTTP_204_NO_CONTENT)

    @work({(200, PACKED): OpenApiTypes.BINARY}, path=rf"files/(?P<key>{KEY})/content")
    def file_content(self, request: Request, slug: str, key: str) -> HttpResponseBase:
        """Send a file that was made."""
        study: Study = self.get_object()
        return packed(study, find_file(study, key))
