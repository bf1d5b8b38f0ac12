"""`reset_second_factor USER`."""

from typing import Any

from annotation.management.commands._base import TandemCommand, argument
from annotation.management.commands._scope import user_of
from annotation.members.second_factor import remove_second_factor


class Command(TandemCommand):
    help = "Delete the second factor of a user who has lost app and backup codes. They can set up a new one."

    arguments = (argument("user"),)

    def handle(self, *args: Any, **options: Any) -> None:
        user = user_of(options)
        removed = remove_second_factor(user=user)
        self.say(f"{user}: the second factor is reset" if removed else f"{user} has no second factor")
