"""`create_token USER --scope SCOPE … [--study STUDY …] [--name NAME] [--days N]`."""

from datetime import timedelta
from typing import Any

from django.contrib.auth.models import User
from django.core.management.base import CommandError
from django.utils import timezone

from annotation.management.commands._base import TandemCommand, argument
from annotation.members.tokens import make_token
from annotation.models.tokens import Scope
from annotation.studies.services import find_study


class Command(TandemCommand):
    help = "Create an API token for a user and print it, once. The user can revoke it on the page of tokens."

    arguments = (
        argument("user", metavar="USER", help="the account's name"),
        argument("--scope", action="append", required=True, choices=Scope.values, help="may be repeated"),
        argument("--study", action="append", default=[], metavar="STUDY", help="only for this study; may be repeated"),
        argument("--name", default="from the command line", help="name of the token"),
        argument("--days", type=int, metavar="N", help="days valid (default: no end)"),
    )

    def handle(self, *args: Any, **options: Any) -> None:
        user = User.objects.filter(username=options["user"]).first()
        if user is None:
            raise CommandError(f"there is no account {options['user']}")
        now, days = timezone.now(), options["days"]
        if days is not None and not 1 <= days <= 3650:
            raise CommandError(f"--days must be from 1 to 3650, got {days}")
        _token, key = make_token(
            user=user,
            name=options["name"],
            scopes=options["scope"],
            studies=[find_study(slug) for slug in options["study"]],
            expires_at=now + timedelta(days=days) if days else None,
            at=now,
        )
        self.say(key)
