"""Members of studies and groups in the API, the groups themselves, and moving studies between them."""

from typing import Any

from django.core.exceptions import PermissionDenied
from django.http import Http404
from rest_framework import serializers, status
from rest_framework.request import Request
from rest_framework.response import Response
from rest_framework.viewsets import GenericViewSet

from annotation.api.answers import answers, made, work
from annotation.api.bodies import body_of, read, read_form, require_manager, schema_of, user_of
from annotation.members.forms import GroupForm, GroupNameForm, NewMember
from annotation.members.groups import add_member, create_group, move_study, rename_group, revoke_role
from annotation.members.memberships import GRANTABLE, Place, grants_in, may_give_roles, members_of
from annotation.members.permissions import is_site_admin
from annotation.models import ResearchGroup, RoleGrant, Study
from annotation.models.members import Scope

MEMBER = r"members/(?P<member>[0-9]{1,18})"


class MemberSerializer(serializers.ModelSerializer[RoleGrant]):
    """A role that an account holds in a study, or in a group and so in all its studies."""

    username = serializers.CharField(source="user.username", read_only=True)
    study = serializers.CharField(source="study.slug", read_only=True, default=None, allow_null=True)
    group = serializers.CharField(source="group.slug", read_only=True, default=None, allow_null=True)

    class Meta:
        model = RoleGrant
        fields = ["id", "username", "role", "study", "group"]


NewMemberSerializer = schema_of(NewMember, role=serializers.ChoiceField(choices=[role.value for role in GRANTABLE]))


class GroupSerializer(serializers.ModelSerializer[ResearchGroup]):
    """A group, to which studies belong."""

    class Meta:
        model = ResearchGroup
        fields = ["slug", "name"]


class MoveSerializer(serializers.Serializer[Any]):
    """The new group of a study. Roles of researchers and study admins in the study itself end."""

    group = serializers.CharField(max_length=80, help_text="Its short name.")


class _Members(GenericViewSet[Any]):
    """Members of a study or a group, for its study admins."""

    def _managed_place(self) -> Place:
        place: Place = self.get_object()
        if not may_give_roles(user_of(self.request), place):
            raise PermissionDenied("only study admins may do this")
        return place

    @work(MemberSerializer(many=True), read_scope=Scope.PERSONAL, paged=True)
    def members(self, request: Request, slug: str) -> Response:
        """List the roles in it. A study's include those of its group's researchers and study admins."""
        page = self.paginate_queryset(members_of(self._managed_place()).order_by("pk"))
        return self.get_paginated_response(MemberSerializer(page, many=True).data)

    @answers(MemberSerializer, 201, body=NewMemberSerializer)
    @members.mapping.post
    def add_member(self, request: Request, slug: str) -> Response:
        """Grant a role to an account. An existing grant stays."""
        place, values = self._managed_place(), read_form(NewMember, body_of(request)).cleaned_data
        user, _changed = add_member(**values, by=user_of(request), place=place)
        grant = grants_in(place).get(user=user, role=values["role"])
        return Response(MemberSerializer(grant).data, status=status.HTTP_201_CREATED)

    @work(None, 204, refused=(409,), methods=["delete"], path=MEMBER)
    def remove_member(self, request: Request, slug: str, member: str) -> Response:
        """Revoke a role at once."""
        place = self._managed_place()
        grant = grants_in(place).filter(pk=int(member)).first()
        if grant is None:
            raise Http404(f"no member {member}")
        revoke_role(user=grant.user, role=grant.role, by=user_of(request), place=place)
        return Response(status=status.HTTP_204_NO_CONTENT)


class StudyMembers(_Members):
    """Members of a study."""

    @work(None, 204, body=MoveSerializer, refused=(413, 422), methods=["post"])
    def move(self, request: Request, slug: str) -> Response:
        """Move a study to another group, for site admins."""
        study: Study = self.get_object()
        require_manager(request.user, study)
        _require_site_admin(request)
        slug_of_group = read(MoveSerializer, request)["group"]
        group = ResearchGroup.objects.filter(slug=slug_of_group).first()
        if group is None:
            raise Http404(f"no group {slug_of_group}")
        move_study(study=study, group=group, by=user_of(request))
        return Response(status=status.HTTP_204_NO_CONTENT)


class GroupSetup(_Members):
    """Groups and their members."""

    @answers(GroupSerializer, 201, body=schema_of(GroupForm, "NewGroup"))
    def create(self, request: Request) -> Response:
        """Create a group without members, for site admins."""
        _require_site_admin(request)
        group = create_group(**read_form(GroupForm, body_of(request)).cleaned_data, by=user_of(request))
        return made(GroupSerializer(group).data, "group-detail", group.slug)

    @answers(GroupSerializer, body=schema_of(GroupNameForm, "GroupName"))
    def partial_update(self, request: Request, slug: str) -> Response:
        """Rename a group, for site admins."""
        group = self.get_object()
        _require_site_admin(request)
        name = read_form(GroupNameForm, body_of(request)).cleaned_data["name"]
        return Response(GroupSerializer(rename_group(group=group, name=name, by=user_of(request))).data)


def _require_site_admin(request: Request) -> None:
    if not is_site_admin(user_of(request)):
        raise PermissionDenied("only site admins may do this, by a token for all studies")
