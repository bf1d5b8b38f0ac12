"""Setting studies up through the API: what the pages do, checked by the same forms and done by the same services."""

from typing import Any

from django.core.exceptions import PermissionDenied
from django.urls import reverse
from drf_spectacular.utils import extend_schema
from rest_framework import status
from rest_framework.decorators import action
from rest_framework.parsers import MultiPartParser
from rest_framework.request import Request
from rest_framework.response import Response
from rest_framework.viewsets import GenericViewSet

from annotation.access import MANAGERS
from annotation.api.bodies import body_of, checked, texts_of, user_of
from annotation.api.study_serializers import (
    CopySerializer,
    EventSerializer,
    NewStudySerializer,
    ReasonSerializer,
    StudySerializer,
    StudySettingsSerializer,
    UploadedSerializer,
    UploadSerializer,
    refusals,
)
from annotation.errors import BadFields
from annotation.forms import CopyStudyForm, NewStudyForm, UploadForm, file_of
from annotation.models import Study
from annotation.services.archive import archive_study, restore_study
from annotation.services.copying import copy_study
from annotation.services.new_studies import create_study, settings_of
from annotation.services.studies import save_settings
from annotation.services.uploads import read_upload
from annotation.settings_form import checked_settings, reason_field
from annotation.study_groups import group_of_copy, groups_of_new_study
from annotation.study_log import events_of


class StudySetup(GenericViewSet):
    """Making, changing, copying and archiving studies, reading files into them, and their log."""

    def _managed(self) -> Study:
        """Return the study if this user is a study admin of it; a reader is refused, a stranger finds nothing."""
        study: Study = self.get_object()
        if not Study.objects.seen_by(self.request.user, *MANAGERS).filter(pk=study.pk).exists():
            raise PermissionDenied("only study admins may change a study")
        return study

    def _shown(self, study: Study, code: int = status.HTTP_200_OK) -> Response:
        where = (
            {"Location": reverse("api:study-detail", args=[study.slug])} if code == status.HTTP_201_CREATED else None
        )
        return Response(self.get_serializer(Study.objects.get(pk=study.pk)).data, status=code, headers=where)

    @extend_schema(request=NewStudySerializer, responses={201: StudySerializer, **refusals(409, 413, 422)})
    def create(self, request: Request) -> Response:
        """Make a study, from a template or from nothing; whoever makes it is a study admin of it."""
        groups = groups_of_new_study(user_of(request))
        data = body_of(request)
        names = checked(NewStudyForm(texts_of(data, "slug", "group", "template"), groups=groups))
        begun = names["template"].study()
        settings = checked_settings(begun, {"title": names["slug"], **data})
        study, _ = create_study(
            slug=names["slug"],
            group=names["group"],
            settings={**settings_of(begun), **settings},
            template=names["template"],
            by=user_of(request),
        )
        return self._shown(study, status.HTTP_201_CREATED)

    @extend_schema(request=StudySettingsSerializer, responses={200: StudySerializer, **refusals(409, 413, 422)})
    def partial_update(self, request: Request, slug: str) -> Response:
        """Change settings of a study; once rating has begun, as an amendment, which needs `amendment_reason`."""
        study = self._managed()
        data = body_of(request)
        reason = _reason(data, "amendment_reason")
        save_settings(study=study, by=user_of(request), reason=reason, **checked_settings(study, data))
        return self._shown(study)

    @extend_schema(
        request={"multipart/form-data": UploadSerializer},
        responses={200: UploadedSerializer, **refusals(409, 422)},
    )
    @action(detail=True, methods=["post"], url_path="import", parser_classes=[MultiPartParser])
    def import_file(self, request: Request, slug: str) -> Response:
        """Read a file into a study, whole or not at all; reading the same file again changes nothing."""
        study = self._managed()
        form = UploadForm(request.POST, request.FILES)
        checked(form)
        _, said = read_upload(slug=study.slug, **file_of(form))
        return Response({"study": study.slug, "detail": said})

    @extend_schema(request=CopySerializer, responses={201: StudySerializer, **refusals(409, 413, 422)})
    @action(detail=True, methods=["post"])
    def copy(self, request: Request, slug: str) -> Response:
        """Make a study with the settings of this one, and its instances if asked; never its ratings."""
        study: Study = self.get_object()
        groups = groups_of_new_study(user_of(request))
        data = body_of(request)
        with_instances = data.pop("with_instances", False)
        names = texts_of(data, "slug", "title", "group")
        _refuse_further(data)
        if not isinstance(with_instances, bool) and with_instances not in ("true", "false"):
            raise BadFields({"with_instances": ["This must be true or false."]})
        names["group"] = names["group"] or group_of_copy(user_of(request), study).slug
        form = CopyStudyForm({**names, "with_instances": with_instances}, study=study, groups=groups)
        return self._shown(copy_study(study=study, by=user_of(request), **checked(form)), status.HTTP_201_CREATED)

    @extend_schema(request=ReasonSerializer, responses={200: StudySerializer, **refusals(413, 422)})
    @action(detail=True, methods=["post"])
    def archive(self, request: Request, slug: str) -> Response:
        """Put a study into the archive: nothing of it is given out any more. Nothing is deleted."""
        study = self._managed()
        archive_study(study=study, by=user_of(request), reason=_only_reason(request))
        return self._shown(study)

    @extend_schema(request=ReasonSerializer, responses={200: StudySerializer, **refusals(413, 422)})
    @action(detail=True, methods=["post"])
    def restore(self, request: Request, slug: str) -> Response:
        """Take a study out of the archive."""
        study = self._managed()
        restore_study(study=study, by=user_of(request), reason=_only_reason(request))
        return self._shown(study)

    @extend_schema(responses={200: EventSerializer(many=True), **refusals()}, filters=False)
    @action(detail=True, filter_backends=[])
    def log(self, request: Request, slug: str) -> Response:
        """List what was decided about a study, the latest first; nothing about raters who have withdrawn."""
        page = self.paginate_queryset(events_of(self.get_object()))
        return self.get_paginated_response(EventSerializer(page, many=True).data)


def _reason(data: dict[str, Any], name: str) -> str:
    text = texts_of(data, name)[name]
    field = reason_field()
    if len(text) > (field.max_length or 0):
        raise BadFields({name: [f"At most {field.max_length} characters."]})
    return text


def _only_reason(request: Request) -> str:
    data = body_of(request)
    reason = _reason(data, "reason")
    _refuse_further(data)
    return reason


def _refuse_further(data: dict[str, Any]) -> None:
    if data:
        raise BadFields({name: ["There is no such field here."] for name in data})
