"""Files read into a study, in the API: sending them, how far the worker is, and which lines were bad."""

from typing import Any

from django.http import Http404
from django.urls import reverse
from drf_spectacular.utils import extend_schema_field
from rest_framework import serializers, status
from rest_framework.parsers import MultiPartParser
from rest_framework.request import Request
from rest_framework.response import Response
from rest_framework.viewsets import GenericViewSet

from annotation.api.answers import MOST_LINES, work
from annotation.api.bodies import user_of
from annotation.core.actions import checked
from annotation.core.files.mapping import HELP as MAPPING_HELP
from annotation.core.refusals import restored
from annotation.importing.formats.public_forms import AUTO
from annotation.importing.forms import MAPPED, UploadForm, how_to_import
from annotation.members.permissions import is_site_admin
from annotation.models import Study, Upload
from reporting.uploads.jobs import discard, keep, look, progress_of, refusal_of, take_in
from reporting.uploads.look import Look

KEY = r"[A-Za-z0-9_-]+"


class UploadSerializer(serializers.Serializer[Any]):
    """Files to import into a study: several of one data set, or a folder as a ZIP archive."""

    kind = serializers.ChoiceField(
        choices=[name for name, _label in (*UploadForm.KINDS, *UploadForm.WHOLE)],
        required=False,
        help_text=(
            "Default: auto, recognised by the fields. Site admins import a bundle into an empty study, or verify it "
            "(bundle-check)."
        ),
    )
    file = serializers.FileField(help_text="Can be given several times.")
    dataset = serializers.CharField(required=False)
    system_1 = serializers.CharField(required=False)
    system_2 = serializers.CharField(required=False)
    mapping = serializers.CharField(required=False, help_text=f"For {', '.join(MAPPED)}, one per line: {MAPPING_HELP}.")


OF_FILES: dict[str, Any] = {
    "body": {"multipart/form-data": UploadSerializer},
    "refused": (409, 422),
    "methods": ["post"],
    "parser_classes": [MultiPartParser],
}
PROGRESS = ("stage", "passes", "done", "total", "rate", "seconds_left")


class ImportSerializer(serializers.ModelSerializer[Upload]):
    """Uploaded files, and the progress of their import."""

    study = serializers.CharField(source="study.slug", read_only=True)
    names: Any = serializers.ListField(child=serializers.CharField(), read_only=True)
    status = serializers.CharField(read_only=True, help_text="queued, running, done or failed.")
    detail = serializers.CharField(
        source="message.text",
        read_only=True,
        help_text="What was added, with a line for each notice, or why nothing was.",
    )
    detail_code = serializers.CharField(source="message.code", read_only=True, help_text="Code of the detail.")
    bad_lines = serializers.SerializerMethodField(help_text="How many; the first ones are in `imports/KEY/`.")
    stage = serializers.CharField(allow_null=True, default=None, help_text="reading, storing, or null.")
    passes = serializers.IntegerField(
        allow_null=True, default=None, help_text="How often the file was begun: `done` starts again with each."
    )
    done = serializers.IntegerField(allow_null=True, default=None, help_text="Bytes read, or rows stored.")
    total = serializers.IntegerField(allow_null=True, default=None)
    rate = serializers.FloatField(allow_null=True, default=None, help_text="A second.")
    seconds_left = serializers.FloatField(allow_null=True, default=None, help_text="Of the stage.")

    class Meta:
        model = Upload
        fields = [
            *("key", "study", "kind", "names", "size", "status", "detail", "detail_code", "bad_lines"),
            *(*PROGRESS, "asked_at", "finished_at"),
        ]

    def get_bad_lines(self, upload: Upload) -> int:
        """Count the bad lines."""
        return len(upload.bad_lines)

    def to_representation(self, instance: Upload) -> dict[str, Any]:
        """Return an import with the progress of one that is being read."""
        running = progress_of(instance) if instance.status == Upload.Status.RUNNING else None
        return {**super().to_representation(instance), **{name: getattr(running, name, None) for name in PROGRESS}}


class BadLineSerializer(serializers.Serializer[Any]):
    """A bad line."""

    number = serializers.IntegerField()
    code = serializers.CharField(help_text="Of the reason.")
    reason = serializers.CharField()


class ReadImportSerializer(ImportSerializer):
    """One import, with its first bad lines."""

    lines = serializers.SerializerMethodField(help_text=f"At most {MOST_LINES}.")

    class Meta(ImportSerializer.Meta):
        fields = [*ImportSerializer.Meta.fields, "lines"]

    @extend_schema_field(BadLineSerializer(many=True))
    def get_lines(self, upload: Upload) -> list[dict[str, Any]]:
        """Return the first bad lines."""
        lines = [restored(**line) for line in upload.bad_lines[:MOST_LINES]]
        return [{"number": line.number, "code": line.reason.code, "reason": line.text} for line in lines]


class PreviewedPairSerializer(serializers.Serializer[Any]):
    """A pair that an import would create."""

    instance_id = serializers.CharField(source="matchup.instance.instance_id")
    source: Any = serializers.CharField(source="matchup.instance.source")
    system_a = serializers.CharField(source="matchup.system_a.name")
    system_b = serializers.CharField(source="matchup.system_b.name")
    text_a = serializers.CharField(source="generation_a.text")
    text_b = serializers.CharField(source="generation_b.text")


class LookSerializer(serializers.Serializer[Any]):
    """The first records of files as they would be imported."""

    kind = serializers.CharField()
    form = serializers.CharField(help_text="The public form that was recognised; empty for none.")
    records = serializers.IntegerField(help_text="How many there are, or with `more` at least.")
    more = serializers.BooleanField()
    fields_of_first = serializers.SerializerMethodField(help_text="Of the first record: path → example.")
    mapping = serializers.DictField(child=serializers.CharField(), help_text="From an earlier file, or a guess.")
    problems = serializers.SerializerMethodField(help_text="Why the first records can't be imported like this.")
    pairs = PreviewedPairSerializer(many=True)
    rows = serializers.ListField(child=serializers.DictField())

    def get_fields_of_first(self, look: Look) -> dict[str, str]:
        """Return the path of each field with its example."""
        return dict(look.fields)

    @extend_schema_field(BadLineSerializer(many=True))
    def get_problems(self, look: Look) -> list[dict[str, Any]]:
        """Return the lines and reasons."""
        return [{"number": number, "code": code, "reason": text} for number, code, text in look.problems[:MOST_LINES]]


def _form_of(request: Request) -> UploadForm:
    """Return the valid form of files that were sent. Raises: BadFields."""
    form = UploadForm({"kind": AUTO, **request.POST.dict()}, request.FILES, is_whole=is_site_admin(request.user))
    checked(form)
    return form


class StudyImports(GenericViewSet[Any]):
    """Import files into a study; for researchers too."""

    @work(ImportSerializer, 200, 202, path="import", **OF_FILES)
    def import_file(self, request: Request, slug: str) -> Response:
        """Read files into a study, whole or not at all. The same again changes nothing. Large ones a worker reads (202)."""
        study: Study = self.get_object()
        form = _form_of(request)
        upload = take_in(study=study, files=form.cleaned_data["file"], **how_to_import(form), by=user_of(request))
        if refusal := refusal_of(upload):
            raise refusal
        code = status.HTTP_200_OK if upload.status == Upload.Status.DONE else status.HTTP_202_ACCEPTED
        where = {"Location": reverse("api:study-import", args=[study.slug, upload.key])}
        return Response(ImportSerializer(upload).data, status=code, headers=where)

    @work(LookSerializer, path="import/look", **OF_FILES)
    def look_at_file(self, request: Request, slug: str) -> Response:
        """Return the fields of files, a mapping, and what their first records would become. Nothing is stored."""
        study: Study = self.get_object()
        form = _form_of(request)
        key = keep(study, form.cleaned_data["file"])
        try:
            return Response(LookSerializer(look(study=study, key=key, **how_to_import(form))).data)
        finally:
            discard(key)

    @work(ImportSerializer(many=True))
    def imports(self, request: Request, slug: str) -> Response:
        """List the latest files that were sent, with the progress of those that are being read."""
        study: Study = self.get_object()
        return Response(ImportSerializer(study.uploads.select_related("study"), many=True).data)

    @work(ReadImportSerializer, path=rf"imports/(?P<key>{KEY})", url_name="import")
    def one_import(self, request: Request, slug: str, key: str) -> Response:
        """Return how far the reading of files is, and the lines that were bad."""
        study: Study = self.get_object()
        upload = study.uploads.select_related("study").filter(key=key).first()
        if upload is None:
            raise Http404(f"no import {key}")
        return Response(ReadImportSerializer(upload).data)
