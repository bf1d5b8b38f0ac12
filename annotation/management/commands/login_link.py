"""`login_link USER`."""

from typing import Any

from django.conf import settings
from django.contrib.auth import get_user_model
from django.core.management.base import CommandError

from annotation.management.commands._base import TandemCommand, argument
from annotation.management.commands._settings import add_base_url
from annotation.members.accounts import login_link


class Command(TandemCommand):
    help = "Print a link that signs a user in, once and within a day. Only the button on its page uses it up."

    arguments = (argument("user"), add_base_url)

    def handle(self, *args: Any, **options: Any) -> None:
        user = get_user_model().objects.filter(username=options["user"]).first()
        if user is None:
            raise CommandError(
                f"there is no user {options['user']}; create one: {settings.COMMAND} grant {options['user']} --role …"
            )
        self.say(login_link(user=user, base_url=options["base_url"]))
