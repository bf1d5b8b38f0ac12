"""`revoke USER --role annotator|researcher|study-admin|admin [--study SLUG | --group SLUG]`."""

from typing import Any

from annotation.core.errors import AnnotationError
from annotation.management.commands._base import TandemCommand, argument
from annotation.management.commands._scope import SCOPE, named, scope_of, user_of
from annotation.members.groups import revoke_role
from annotation.models.members import Role


class Command(TandemCommand):
    help = "End a user's role in one study or in all studies of a group."

    arguments = (argument("user"), argument("--role", required=True, choices=Role.values), SCOPE)

    def handle(self, *args: Any, **options: Any) -> None:
        role, user = options["role"], user_of(options)
        scope = scope_of(options, role)
        if role == Role.ADMIN and scope is not None:
            raise AnnotationError("a site admin is one in all studies; leave the study or group out")
        revoke_role(user=user, role=role, place=scope)
        self.say(f"{user} is no longer {role} in {named(scope)}")
        for grant in user.role_grants.select_related("study", "group").order_by("pk"):
            self.say(f"still: {grant.role} in {named(grant.study or grant.group)}")
