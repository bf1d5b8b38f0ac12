"""Shared by the commands of platforms: the option for one of a study's channels."""

from argparse import ArgumentParser
from collections.abc import Mapping
from typing import Any

from annotation.core.errors import UnknownName
from annotation.models import Channel
from annotation.studies.services import find_study


def add_channel(parser: ArgumentParser, platform: str) -> ArgumentParser:
    """Declare the study and its channel, and return the parser."""
    parser.add_argument("study", metavar="STUDY")
    help_text = f"required if the study has several for {platform}"
    parser.add_argument("--channel", default=None, metavar="NAME", help=help_text)
    return parser


def channel_of(options: Mapping[str, Any], kind: str, platform: str) -> Channel:
    """Return the study's channel of this kind, or the one that the options name.

    Raises: UnknownStudy; UnknownName.
    """
    slug, name = options["study"], options["channel"]
    channels = find_study(slug).channels.filter(kind=kind).select_related("study")
    matching = list(channels.filter(name=name) if name else channels)
    if len(matching) != 1:
        names = ", ".join(channels.values_list("name", flat=True))
        raise UnknownName(f"name one {platform} channel of study {slug} with --channel; there are: {names or 'none'}")
    return matching[0]
