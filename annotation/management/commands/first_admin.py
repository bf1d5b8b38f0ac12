"""`first_admin [--if-terminal]`: a sign-in link for the first site admin. `serve` prints it before it serves."""

from typing import Any

from django.conf import settings

from annotation.management.commands._base import TandemCommand, argument
from annotation.management.commands._settings import add_base_url
from annotation.members.accounts import FIRST_ADMIN, first_admin_link, has_site_admin


class Command(TandemCommand):
    help = "Print a sign-in link for the first site admin, or nothing if there is a site admin."

    arguments = (
        add_base_url,
        argument(
            "--if-terminal",
            action="store_true",
            help="print the link only to a terminal, not to a log",
        ),
    )

    def handle(self, *args: Any, **options: Any) -> None:
        if has_site_admin():
            return
        terminals = [stream for stream in (self.stdout, self.stderr) if stream.isatty()]
        if options["if_terminal"] and not terminals:
            self.say(f"There is no site admin yet. For a sign-in link, run: {settings.COMMAND} first_admin")
            return
        link = first_admin_link(base_url=options["base_url"])
        (terminals or [self.stdout])[0].write(
            f"There is no site admin yet. This link signs the first one in, as {FIRST_ADMIN}; it works once, within a day:\n\n"
            f"  {link}\n\n"
            f"Others get in by: {settings.COMMAND} grant NAME --role ROLE, then {settings.COMMAND} login_link NAME\n",
            style_func=str,
        )
