"""`create_token USER --scope SCOPE … [--study STUDY …] [--name NAME] [--days N]`."""

from typing import Any

from django.utils import timezone

from annotation.management.commands._base import TandemCommand, argument, arguments_of, filled_by
from annotation.management.commands._scope import user_of
from annotation.members.forms import NewToken

SEVERAL = {"action": "append", "nargs": None}


class Command(TandemCommand):
    help = "Create an API token for a user and print it, once. The user can revoke it on the page of tokens."

    arguments = (
        argument("user", metavar="USER", help="the account's name"),
        *arguments_of(
            NewToken,
            scopes={"flag": "--scope", "required": True, **SEVERAL},
            studies={"flag": "--study", **SEVERAL},
            name={"default": "from the command line", "required": False},
            days={"metavar": "N"},
        ),
    )

    def handle(self, *args: Any, **options: Any) -> None:
        _token, key = filled_by(NewToken, options, user=user_of(options)).run(at=timezone.now())
        self.say(key)
