"""Files of a study in the API: rows in long form, and bundles and reports that the worker makes."""

from typing import Any

from django.http import HttpResponseBase
from django.urls import reverse
from drf_spectacular.types import OpenApiTypes
from drf_spectacular.utils import OpenApiParameter, extend_schema
from rest_framework import serializers, status
from rest_framework.decorators import action
from rest_framework.exceptions import ParseError
from rest_framework.request import Request
from rest_framework.response import Response
from rest_framework.viewsets import GenericViewSet

from annotation.api.bodies import read, require_manager, user_of
from annotation.api.reasons import MESSAGE, WithMessage
from annotation.api.study_serializers import refusals
from annotation.models import Study
from reporting.api.file_choices import NewFileSerializer, estimated, options_of, refuse_unknown_names
from reporting.api.material import ESTIMATED
from reporting.api.rows import KEY
from reporting.downloads.jobs import files_of, queue_file, remove_file
from reporting.downloads.views import find_file, packed
from reporting.exports.files import FORMATS, KINDS
from reporting.exports.views import CONTENT_TYPES, rows_response
from reporting.models import MadeFile

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


class StudyFiles(GenericViewSet[Any]):
    """Exports of rows, and files that a worker creates; for readers of the study."""

    @extend_schema(parameters=[FORMAT], responses={**ROWS, **refusals(409)}, filters=False)
    @action(
        detail=True,
        url_path=rf"exports/(?P<kind>{'|'.join(KINDS)})",
        pagination_class=None,
        filter_backends=[],
        parameters=[FORMAT],
    )
    def exports(self, request: Request, slug: str, kind: str) -> HttpResponseBase:
        """Stream the rows of one kind, as `manage.py export_study` writes them."""
        form = request.query_params.get("format", "csv")
        if form not in FORMATS:
            raise ParseError(f"format must be one of {', '.join(FORMATS)}")
        response: HttpResponseBase = rows_response(self.get_object(), kind, form)
        return response

    @extend_schema(responses={200: MadeFileSerializer(many=True), **refusals()}, filters=False)
    @action(detail=True, pagination_class=None, filter_backends=[])
    def files(self, request: Request, slug: str) -> Response:
        """List the files that were asked for, the latest first, with the progress of those that are being made."""
        return Response(MadeFileSerializer(files_of(self.get_object()), many=True).data)

    @extend_schema(request=NewFileSerializer, responses={202: MadeFileSerializer, **refusals(413, 422)})
    @files.mapping.post
    def make_file(self, request: Request, slug: str) -> Response:
        """Queue a file of one kind. Asking for the same while it is under way changes nothing."""
        study: Study = self.get_object()
        kind, options = options_of(read(NewFileSerializer, request))
        refuse_unknown_names(study, kind, options, request.user)
        file, _ = queue_file(study, kind, options, user_of(request))
        return Response(MadeFileSerializer(file).data, status=status.HTTP_202_ACCEPTED)

    @extend_schema(request=NewFileSerializer, responses=ESTIMATED, filters=False)
    @action(detail=True, methods=["post"], url_path="files/estimate", pagination_class=None, filter_backends=[])
    def estimate_file(self, request: Request, slug: str) -> Response:
        """Estimate what a file takes for which a model is asked: `ranking` with `run`, `table-checks`; the rows of `preferences`. No call is made."""
        study: Study = self.get_object()
        kind, options = options_of(read(NewFileSerializer, request))
        refuse_unknown_names(study, kind, options, request.user)
        return Response(estimated(study, kind, options))

    @extend_schema(responses={200: MadeFileSerializer, **refusals()}, filters=False)
    @action(detail=True, url_path=rf"files/(?P<key>{KEY})", pagination_class=None, filter_backends=[])
    def file(self, request: Request, slug: str, key: str) -> Response:
        """Return one file and its progress."""
        return Response(MadeFileSerializer(find_file(self.get_object(), key)).data)

    @extend_schema(request=None, responses={204: None, **refusals()})
    @file.mapping.delete
    def remove_file(self, request: Request, slug: str, key: str) -> Response:
        """Remove a file that was made."""
        study: Study = self.get_object()
        require_manager(request.user, study)
        remove_file(find_file(study, key))
        return Response(status=status.HTTP_204_NO_CONTENT)

    @extend_schema(responses={(200, PACKED): OpenApiTypes.BINARY, **refusals()}, filters=False)
    @action(detail=True, url_path=rf"files/(?P<key>{KEY})/content", pagination_class=None, filter_backends=[])
    def file_content(self, request: Request, slug: str, key: str) -> HttpResponseBase:
        """Send a file that was made."""
        study: Study = self.get_object()
        return packed(study, find_file(study, key))
