"""`configure_study STUDY protocol=two-stage arms=none,table:c8 reason_min_length=20 [--reason TEXT]`."""

from typing import Any

from django.core.management.base import CommandError
from django.db import transaction

from annotation.management.commands._base import StudyCommand, argument
from annotation.management.commands._settings import FORMAT, named_settings
from annotation.models import Event, Study
from annotation.quality.qualification import too_few_hits
from annotation.questions.questions import described
from annotation.studies.services import save_settings, set_families
from annotation.studies.settings_form import SETTINGS, checked_settings


class Command(StudyCommand):
    help = "Change a study's settings: texts for raters, protocol, pay and checks; an empty value clears a setting."

    arguments = (
        argument(
            "values",  # not "settings", which is an option that every command has
            nargs="*",
            metavar="NAME=VALUE",
            help=f"NAME is one of: {', '.join(SETTINGS)}",
        ),
        argument("--reason", default="", help="reason; required once rating has begun, and shown with the results"),
        argument(
            "--family",
            action="append",
            default=[],
            metavar="SYSTEM=FAMILY",
            help="the model family of a system, to test whether judges prefer their own; may be repeated",
        ),
        FORMAT,
    )

    def run(self, study: Study, options: dict[str, Any]) -> None:
        if not options["values"] and not options["family"]:
            raise CommandError("nothing to change: give NAME=VALUE, or --family SYSTEM=FAMILY")
        values = named_settings(options["values"])
        before = {name: getattr(study, name) for name in SETTINGS}
        settings = checked_settings(study, values)
        amendments = study.events.filter(kind=Event.Kind.AMENDMENT)
        before_count = amendments.count()
        with transaction.atomic():
            families = set_families(study=study, families=dict(_family(item) for item in options["family"]))
            saved = save_settings(study=study, reason=options["reason"], **settings)
        changed = {name: value for name in values if (value := getattr(saved, name)) != before[name]}
        if notice := too_few_hits(saved):
            self.stderr.write(f"notice: {notice}")
        amended = amendments.count() > before_count
        if options["format"] == "json":
            steps = {name: [before[name], value] for name, value in changed.items()}
            named = {"families": families} if options["family"] else {}
            self.say_json({"study": saved.slug, "changed": steps, **named, "amendment": amended})
            return
        for name, (old, new) in families.items():
            self.say(f"family of {name}: {_shown(old)} → {_shown(new)}")
        for name, value in changed.items():
            self.say(f"{name}: {_shown(before[name])} → {_shown(value)}")
        if amended:
            self.say("an amendment: kept in the study's log and shown with the results")
        if not changed and not families:
            self.say("nothing changed")


def _family(item: str) -> tuple[str, str]:
    system, equals, family = item.rpartition("=")  # a system's name may contain "="
    if not equals or not system:
        raise CommandError(f"{item}: give SYSTEM=FAMILY; SYSTEM= clears it")
    return system, family


def _shown(value: Any) -> str:
    if isinstance(value, list):
        return ", ".join(item if isinstance(item, str) else described(item) for item in value) or "none"
    return "nothing" if value in (None, "") else str(value)
