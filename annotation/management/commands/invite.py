"""`invite STUDY --count N [--format json|csv|text]`, or `invite STUDY --rater CODE` for one who can't get in."""

import csv
import json
from typing import Any

from django.core.management.base import CommandError
from django.db import transaction
from django.utils import timezone

from annotation.management.commands._base import StudyCommand, argument, arguments_of, filled_by, one_of
from annotation.management.commands._settings import add_base_url
from annotation.models import Study
from annotation.recruitment.accounts import StudyInvite
from annotation.recruitment.channels import channel_of_rater, invitation_channel
from annotation.recruitment.invitations import Link, invite, reissue


class Command(StudyCommand):
    help = "Create raters and print a one-time link for each. The channel's page lists unused links."

    arguments = (
        one_of(
            *arguments_of(StudyInvite, only=["count"], count={"metavar": "N", "required": False}),
            argument("--rater", metavar="CODE", help="a new link for this rater, who has lost access"),
            required=True,
        ),
        *arguments_of(StudyInvite, only=["batch", "days"], batch={"metavar": "NAME"}),
        add_base_url,
        argument("--format", choices=("text", "csv", "json"), default="text"),
    )

    @transaction.atomic  # a refused count leaves no channel behind
    def run(self, study: Study, options: dict[str, Any]) -> None:
        common = {"base_url": options["base_url"], "at": timezone.now()}
        if options["rater"] is not None:
            if options["batch"] is not None:
                raise CommandError("--batch is for new raters; an existing rater stays in their channel")
            if options["days"] is not None:
                raise CommandError("--days is for new raters; a link for an existing rater is valid for one day")
            code = options["rater"]
            links = [reissue(channel=channel_of_rater(study=study, code=code), code=code, **common)]
        else:
            cleaned = filled_by(StudyInvite, options, study=study).cleaned_data
            channel = invitation_channel(study=study, batch=cleaned["batch"])
            links = invite(channel=channel, count=cleaned["count"], valid_days=cleaned["days"], **common)
        self._print(study, links, options["format"])

    def _print(self, study: Study, links: list[Link], as_format: str) -> None:
        rows = [{"rater": link.rater, "link": link.link, "valid_until": link.valid_until.isoformat()} for link in links]
        if as_format == "json":
            self.say(json.dumps({"study": study.slug, "links": rows}, indent=2))
        elif as_format == "csv":
            writer = csv.DictWriter(self.stdout, ["rater", "link", "valid_until"], lineterminator="\n")
            writer.writeheader()
            writer.writerows(rows)
        else:
            for row in rows:
                self.say(f"{row['rater']}  {row['link']}")
            self.stderr.write(
                f"each works once, until {rows[0]['valid_until']}; the channel's page lists those that are unused"
            )
