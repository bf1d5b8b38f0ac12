"""`login_link USER`."""

from typing import Any

from annotation.management.commands._base import TandemCommand, argument
from annotation.management.commands._scope import user_of
from annotation.management.commands._settings import add_base_url
from annotation.members.accounts import login_link


class Command(TandemCommand):
    help = "Print a link that signs a user in, once and within a day. Only the button on its page uses it up."

    arguments = (argument("user"), add_base_url)

    def handle(self, *args: Any, **options: Any) -> None:
        self.say(login_link(user=user_of(options), base_url=options["base_url"]))
