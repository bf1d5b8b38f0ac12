"""`grant USER --role annotator|researcher|study-admin|admin [--study SLUG | --group SLUG]`."""

from typing import Any

from django.conf import settings
from django.contrib.auth.models import User

from annotation.management.commands._base import TandemCommand, argument
from annotation.management.commands._scope import SCOPE, named, scope_of
from annotation.members.accounts import grant_role
from annotation.models.members import Role


class Command(TandemCommand):
    help = "Give a user a role in one study or in all studies of a group. A new user is created without a password."

    arguments = (
        argument("user"),
        argument("--role", required=True, choices=Role.values),
        SCOPE,
        argument(
            "--any-account",
            action="store_true",
            help="also to an account that joined through a channel, whose owner is unknown",
        ),
    )

    def handle(self, *args: Any, **options: Any) -> None:
        role = options["role"]
        scope = scope_of(options, role)
        before = User.objects.filter(username=options["user"]).first()
        user, changed = grant_role(username=options["user"], role=role, place=scope, any_account=options["any_account"])
        self.say(f"{user} {'is now' if changed else 'was already'} {role} in {named(scope)}")
        self.say(_of_account(before))
        if not user.has_usable_password():
            self.say(
                f"sign in: {settings.COMMAND} login_link {user}   "
                f"(or set a password: {settings.COMMAND} changepassword {user})"
            )


def _of_account(before: User | None) -> str:
    """Say whether the account existed: the name may be another person's than intended."""
    if before is None:
        return "the account was created"
    came = f"last signed in on {before.last_login:%Y-%m-%d}" if before.last_login else "never signed in"
    return f"the account existed: created on {before.date_joined:%Y-%m-%d}, {came}"
