"""`list_members [--study SLUG | --group SLUG] [--format text|json]`."""

import json
from typing import Any

from django.contrib.auth.models import User

from annotation.management.commands._base import TandemCommand, argument
from annotation.management.commands._scope import SCOPE, named, scope_of
from annotation.members.memberships import grants_in
from annotation.models import Study
from annotation.models.members import Role


class Command(TandemCommand):
    is_audited = False  # only reads
    help = "List the roles in a study (with those in its group) or in a group, and the site admins."

    arguments = (SCOPE, argument("--format", choices=["text", "json"], default="text"))

    def handle(self, *args: Any, **options: Any) -> None:
        scope = scope_of(options)
        grants = list(grants_in(scope))
        if isinstance(scope, Study):
            grants += grants_in(scope.group)
        admins = User.objects.filter(is_superuser=True, is_active=True).order_by("username")
        rows = [(str(grant.user), grant.role, named(grant.study or grant.group)) for grant in grants]
        rows += [(str(admin), Role.ADMIN.value, "all studies") for admin in admins]
        if options["format"] == "json":
            keys = ("user", "role", "in")
            self.say(json.dumps([dict(zip(keys, row, strict=True)) for row in rows], ensure_ascii=False))
            return
        for user, role, where in rows:
            self.say(f"{user}: {role} in {where}")
