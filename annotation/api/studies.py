"""Set-up of studies in the API, by the forms and services of the pages."""

from typing import Any

from django.urls import reverse
from drf_spectacular.utils import extend_schema
from rest_framework import status
from rest_framework.decorators import action
from rest_framework.request import Request
from rest_framework.response import Response
from rest_framework.viewsets import GenericViewSet

from annotation.api.bodies import body_of, read_form, require_manager, schema_of, user_of
from annotation.api.study_serializers import (
    ChangedStudySerializer,
    EventSerializer,
    NewStudySerializer,
    StudySettingsSerializer,
    refusals,
)
from annotation.importing.forms import CopyStudyForm, NewStudyForm
from annotation.importing.new_studies import copy_study, create_study, settings_of
from annotation.members.permissions import groups_of_copy, groups_of_new_study
from annotation.models import Study
from annotation.studies.archive import archive_study, restore_study
from annotation.studies.log import events_of
from annotation.studies.services import save_settings
from annotation.studies.settings_form import AmendmentForm, ReasonForm, checked_settings

ReasonSerializer = schema_of(ReasonForm, "Reason")


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
        sent = {name: data.pop(name) for name in NewStudyForm.base_fields if name in data}
        names = read_form(NewStudyForm, sent, groups=groups).cleaned_data
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
        sent = {name: data.pop(name) for name in AmendmentForm.base_fields if name in data}
        reason = read_form(AmendmentForm, sent).cleaned_data["amendment_reason"]
        save_settings(study=study, by=user_of(request), reason=reason, **checked_settings(study, data))
        return self._response(study)

    @extend_schema(
        request=schema_of(CopyStudyForm, "Copy"), responses={201: ChangedStudySerializer, **refusals(409, 413, 422)}
    )
    @action(detail=True, methods=["post"])
    def copy(self, request: Request, slug: str) -> Response:
        """Create a study with the settings of this one, and optionally its instances, but never its ratings."""
        study: Study = self.get_object()
        user = user_of(request)
        form = read_form(CopyStudyForm, body_of(request), study=study, groups=groups_of_copy(user, study))
        return self._response(copy_study(study=study, by=user, **form.cleaned_data), status.HTTP_201_CREATED)

    @extend_schema(request=ReasonSerializer, responses={200: ChangedStudySerializer, **refusals(413, 422)})
    @action(detail=True, methods=["post"])
    def archive(self, request: Request, slug: str) -> Response:
        """Archive a study: its HITs can no longer be claimed. Nothing is deleted."""
        study = self._managed()
        archive_study(study=study, by=user_of(request), **read_form(ReasonForm, body_of(request)).cleaned_data)
        return self._response(study)

    @extend_schema(request=ReasonSerializer, responses={200: ChangedStudySerializer, **refusals(413, 422)})
    @action(detail=True, methods=["post"])
    def restore(self, request: Request, slug: str) -> Response:
        """Restore an archived study."""
        study = self._managed()
        restore_study(study=study, by=user_of(request), **read_form(ReasonForm, body_of(request)).cleaned_data)
        return self._response(study)

    @extend_schema(responses={200: EventSerializer(many=True), **refusals()}, filters=False)
    @action(detail=True, filter_backends=[], paged=True)
    def log(self, request: Request, slug: str) -> Response:
        """List a study's log, the latest entry first, without raters who have withdrawn."""
        page = self.paginate_queryset(events_of(self.get_object()))
        return self.get_paginated_response(EventSerializer(page, many=True).data)
