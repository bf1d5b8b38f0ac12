"""Corrections of a study in the API, by the forms of the pages."""

from collections.abc import Callable, Collection
from typing import Any

from django.contrib.auth.models import User
from drf_spectacular.utils import OpenApiParameter
from rest_framework import serializers
from rest_framework.request import Request
from rest_framework.response import Response
from rest_framework.viewsets import GenericViewSet

from annotation.api.answers import answers, work
from annotation.api.bodies import ManagedStudies, body_of, read_form, schema_of, user_of
from annotation.models import Study
from annotation.models.members import Scope
from reporting.api.access import InScope, IsReader, IsUnlimited
from reporting.corrections.accounts import DeleteAccount, find_account
from reporting.corrections.batches import DeleteBatch
from reporting.corrections.declarations import Correction, corrected
from reporting.corrections.deleting import DeleteStudy
from reporting.corrections.merging import MergeRaters
from reporting.corrections.renaming import Rename
from reporting.corrections.replacing import ReplaceText
from reporting.corrections.taking_back import TakeBack


class EffectsSerializer(serializers.Serializer[Any]):
    """What a correction affects. `message` is empty in a preview."""

    study = serializers.CharField(help_text="Its short name afterwards.", allow_null=True)
    message = serializers.CharField()
    effects = serializers.ListField(child=serializers.DictField(), help_text="`count` and `text` of each.")


def correction(kind: type[Correction]) -> Callable[[Any], Any]:
    """Describe the request of a correction, and give it its address."""
    return work(EffectsSerializer, body=schema_of(kind), methods=["post"], path=kind.action)


DELETING = [
    OpenApiParameter("confirm", str, required=True, description="The study's short name."),
    OpenApiParameter("preview", bool, description="Only list what is deleted."),
]


class AccountViewSet(GenericViewSet[User]):
    """Accounts, by name: one's own, and for site admins all. They can only be deleted."""

    permission_classes = [IsReader, InScope, IsUnlimited]
    serializer_class = EffectsSerializer
    pagination_class = None
    filter_backends: list[Any] = []
    write_scope = Scope.CONFIGURE
    lookup_field = "username"
    lookup_value_regex = "[^/]+"

    @answers(
        EffectsSerializer,
        refused=(409, 422),
        parameters=[OpenApiParameter("confirm", str, required=True, description="The account's name."), DELETING[1]],
    )
    def destroy(self, request: Request, username: str) -> Response:
        """Delete an account with its roles and tokens. Its ratings stay under their codes. This can't be undone."""
        user = find_account(request.user, username)
        form = read_form(DeleteAccount, request.query_params.dict(), user=user)
        return Response({"study": None, **corrected(form, user_of(request))[1]})


class StudyCorrections(ManagedStudies):
    """Corrections by a study's admins. Each lists what it affects with `preview`."""

    parameters: Collection[OpenApiParameter]

    def initial(self, request: Request, *args: Any, **kwargs: Any) -> None:
        """Take the parameters of a deletion, whose request has no body."""
        if request.method == "DELETE":
            self.parameters = DELETING
        super().initial(request, *args, **kwargs)

    @answers(EffectsSerializer, refused=(409, 422), parameters=DELETING)
    def destroy(self, request: Request, slug: str) -> Response:
        """Delete the study with all that belongs to it. This can't be undone. Export a bundle first."""
        return self._correct(request, DeleteStudy, request.query_params.dict())

    @correction(Rename)
    def rename(self, request: Request, slug: str) -> Response:
        """Rename the study, one of its systems, or a judge that ran on it."""
        return self._correct(request, Rename)

    @correction(ReplaceText)
    def replace_text(self, request: Request, slug: str) -> Response:
        """Replace the source of an instance, or a text of a system. Ratings and judgments of the old text stay."""
        return self._correct(request, ReplaceText)

    @correction(MergeRaters)
    def merge_raters(self, request: Request, slug: str) -> Response:
        """Give all work of a rater to another one who is the same person. This can't be undone."""
        return self._correct(request, MergeRaters)

    @correction(DeleteBatch)
    def delete_batch(self, request: Request, slug: str) -> Response:
        """Delete a batch on which nobody has voted."""
        return self._correct(request, DeleteBatch)

    @correction(TakeBack)
    def take_back(self, request: Request, slug: str) -> Response:
        """Take back an import while nothing was built on it. Another number lists the study's imports."""
        return self._correct(request, TakeBack)

    def _correct(self, request: Request, kind: type[Correction], values: dict[str, Any] | None = None) -> Response:
        study: Study = self.managed()
        form = read_form(kind, body_of(request) if values is None else values, study=study)
        document = corrected(form, user_of(request))[1]
        return Response({"study": study.slug, **document})
