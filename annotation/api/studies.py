"""Set-up of studies in the API, by the forms and services of the pages."""

from typing import Any

from django.urls import reverse
from drf_spectacular.utils import extend_schema
from rest_framework import status
from rest_framework.decorators import action
from rest_framework.request import Request
from rest_framework.response import Response
from rest_framework.viewsets import GenericViewSet

from annotation.api.bodies import body_of, require_manager, texts_of, user_of
from annotation.api.study_serializers import (
    ChangedStudySerializer,
    CopySerializer,
    EventSerializer,
    NewStudySerializer,
    ReasonSerializer,
    StudySettingsSerializer,
    refusals,
)
from annotation.core.actions import checked
from annotation.core.errors import BadFields
from annotation.importing.forms import CopyStudyForm, NewStudyForm
from annotation.importing.new_studies import copy_study, create_study, settings_of
from annotation.members.permissions import group_of_copy, groups_of_new_study
from annotation.models import Study
from annotation.studies.archive import archive_study, restore_study
from annotation.studies.log import events_of
from annotation.studies.services import save_settings
from annotation.studies.settings_form import checked_settings, reason_field


class StudySetup(GenericViewSet[Any]):
    """Create, change, copy and archive studies, and list the log."""

    def _managed(self) -> Study:
        """Return the study to its study admins, else raise 403 for readers and 404 for others."""
        study: Study = self.get_object()
        require_manager(self.request.user, study)
        return study

    def _response(self, study: Study, code: int = status.HTTP_200_OK) -> Response:
        where = (
            {"Location": reverse("api:study-detail", args=[study.slug])} if code == status.HTTP_201_CREATED else None
        )
        return Response(ChangedStudySerializer(Study.objects.get(pk=study.pk)).data, status=code, headers=where)

    @extend_schema(request=NewStudySerializer, responses={201: ChangedStudySerializer, **refusals(409, 413, 422)})
    def create(self, request: Request) -> Response:
        """Create a study from a template or blank. Its creator becomes its study admin."""
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
        return self._response(study, status.HTTP_201_CREATED)

    @extend_schema(request=StudySettingsSerializer, responses={200: ChangedStudySerializer, **refusals(409, 413, 422)})
    def partial_update(self, request: Request, slug: str) -> Response:
        """Change settings of a study. Once rating has begun, this is an amendment and needs `amendment_reason`."""
        study = self._managed()
        data = body_of(request)
        reason = _reason(data, "amendment_reason")
        save_settings(study=study, by=user_of(request), reason=reason, **checked_settings(study, data))
        return self._response(study)

    @extend_schema(request=CopySerializer, responses={201: ChangedStudySerializer, **refusals(409, 413, 422)})
    @action(detail=True, methods=["post"])
    def copy(self, request: Request, slug: str) -> Response:
        """Create a study with the settings of this one, and optionally its instances, but never its ratings."""
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
        return self._response(copy_study(study=study, by=user_of(request), **checked(form)), status.HTTP_201_CREATED)

    @extend_schema(request=ReasonSerializer, responses={200: ChangedStudySerializer, **refusals(413, 422)})
    @action(detail=True, methods=["post"])
    def archive(self, request: Request, slug: str) -> Response:
        """Archive a study: its HITs can no longer be claimed. Nothing is deleted."""
        study = self._managed()
        archive_study(study=study, by=user_of(request), reason=_only_reason(request))
        return self._response(study)

    @extend_schema(request=ReasonSerializer, responses={200: ChangedStudySerializer, **refusals(413, 422)})
    @action(detail=True, methods=["post"])
    def restore(self, request: Request, slug: str) -> Response:
        """Restore an archived study."""
        study = self._managed()
        restore_study(study=study, by=user_of(request), reason=_only_reason(request))
        return self._response(study)

    @extend_schema(responses={200: EventSerializer(many=True), **refusals()}, filters=False)
    @action(detail=True, filter_backends=[], paged=True)
    def log(self, request: Request, slug: str) -> Response:
        """List a study's log, the latest entry first, without raters who have withdrawn."""
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
        raise BadFields({name: ["Unknown field."] for name in data})
