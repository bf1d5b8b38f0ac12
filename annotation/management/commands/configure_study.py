"""Change a study's settings from a shell."""

from argparse import ArgumentParser
from typing import Any

from django.core.management.base import CommandError
from django.forms import BooleanField

from annotation.management.commands._base import TandemCommand
from annotation.models import Study
from annotation.services.studies import find_study, save_settings
from annotation.settings_form import StudySettingsForm

_YES, _NO = ("true", "yes", "on", "1"), ("false", "no", "off", "0", "")


class Command(TandemCommand):
    """`configure_study STUDY protocol=two-stage arms=none,table:c8 reason_min_length=20`."""

    help = "Change what a study's raters are told and asked, how they are paid and checked; an empty value clears."

    def add_arguments(self, parser: ArgumentParser) -> None:
        """Declare the arguments."""
        parser.add_argument("study", metavar="STUDY")
        parser.add_argument(
            "values",  # not "settings", which is an option that every command has
            nargs="+",
            metavar="NAME=VALUE",
            help=f"NAME is one of: {', '.join(StudySettingsForm.base_fields)}",
        )

    def handle(self, *args: Any, **options: Any) -> None:
        """Check the values as the settings page does, store them and say what changed."""
        study = find_study(options["study"])
        given = dict(_setting(item) for item in options["values"])
        before = {name: getattr(study, name) for name in given}
        form = StudySettingsForm(_filled_in(study, given), instance=study)
        if not form.is_valid():
            told = [f"{name}: {' '.join(map(str, problems))}" for name, problems in form.errors.items()]
            raise CommandError("\n".join(told))
        saved = save_settings(study=study, **{name: form.cleaned_data[name] for name in given})
        changed = {name: value for name in given if (value := getattr(saved, name)) != before[name]}
        for name, value in changed.items():
            self.say(f"{name}: {_shown(before[name])} → {_shown(value)}")
        if not changed:
            self.say("nothing changed")


def _setting(item: str) -> tuple[str, str]:
    name, equals, value = item.partition("=")
    field = StudySettingsForm.base_fields.get(name)
    if field is None or not equals:
        raise CommandError(f"{item}: give NAME=VALUE with NAME one of {', '.join(StudySettingsForm.base_fields)}")
    if isinstance(field, BooleanField) and value.lower() not in (*_YES, *_NO):
        raise CommandError(f"{item}: the value must be true or false")
    return name, value


def _filled_in(study: Study, given: dict[str, str]) -> dict[str, Any]:
    """Return the form as a browser would send it: the present settings with the given ones in their place."""
    present = {
        name: "" if value is None else value for name, value in StudySettingsForm(instance=study).initial.items()
    }
    switches = {
        name: given[name].lower() in _YES
        for name, field in StudySettingsForm.base_fields.items()
        if isinstance(field, BooleanField) and name in given
    }
    return {**present, **given, **switches}


def _shown(value: Any) -> str:
    if isinstance(value, list):
        return ", ".join(value) or "none"
    return "nothing" if value in (None, "") else str(value)
