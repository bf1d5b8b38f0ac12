"""`first_admin`: what `make run` runs before it serves."""

from typing import Any

from annotation.management.commands._base import TandemCommand
from annotation.management.commands._settings import add_base_url
from annotation.members.first_admin import NAME, first_admin_link, has_site_admin


class Command(TandemCommand):
    help = (
        "Print a link that signs the first site admin in, to a terminal only, since output that goes elsewhere is kept. "
        "Print nothing when there is a site admin."
    )

    arguments = (add_base_url,)

    def handle(self, *args: Any, **options: Any) -> None:
        if has_site_admin():
            return
        terminal = next((stream for stream in (self.stdout, self.stderr) if stream.isatty()), None)
        if terminal is None:
            self.say("There is no site admin yet. For a sign-in link, run in a terminal: manage.py first_admin")
            return
        link = first_admin_link(base_url=options["base_url"])
        terminal.write(
            f"There is no site admin yet. This link signs the first one in, as {NAME}; it works once, within a day:\n\n"
            f"  {link}\n\n"
            "Others get in by: manage.py grant NAME --role ROLE, then manage.py login_link NAME\n",
            style_func=str,
        )
