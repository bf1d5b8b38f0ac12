"""`reset_second_factor USER`."""

from typing import Any

from django.contrib.auth.models import User

from annotation.core.errors import UnknownName
from annotation.management.commands._base import TandemCommand, argument
from annotation.members.second_factor import remove_second_factor


class Command(TandemCommand):
    help = "Delete the second factor of a user who has lost app and backup codes. They can set up a new one."

    arguments = (argument("user"),)

    def handle(self, *args: Any, **options: Any) -> None:
        user = User.objects.filter(username=options["user"]).first()
        if user is None:
            raise UnknownName(f"there is no user {options['user']}")
        removed = remove_second_factor(user=user)
        self.say(f"{user}: the second factor is reset" if removed else f"{user} has no second factor")
