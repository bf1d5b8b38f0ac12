"""The first links of a study without a channel, and the page from which a launched batch's raters are invited."""

from datetime import datetime

from django.db import transaction
from django.urls import reverse

from annotation.models import Channel, Study
from annotation.recruitment.accounts import MOST_AT_ONCE
from annotation.recruitment.channels import invitation_channel
from annotation.recruitment.invitations import invite


@transaction.atomic
def make_first_links(*, study: Study, count: int, at: datetime) -> None:
    """Open a channel of invitations with `count` links, unless the study has a channel of any kind.

    Raises: ClaimRefused when the study is archived.
    """
    study = Study.objects.select_for_update(of=("self",)).get(pk=study.pk)  # or two launches make two
    if not study.channels.exists():
        invite(channel=invitation_channel(study=study), count=min(count, MOST_AT_ONCE), base_url="", at=at)


def address_for_raters(study: Study) -> str:
    """Return the address of the page from which raters are invited: the only open channel's, else the list of channels."""
    is_open = list(study.channels.filter(is_open=True)[:2])
    if len(is_open) != 1:
        return reverse("annotation:channels", args=[study.slug])
    page = "links" if is_open[0].kind == Channel.Kind.ACCOUNTS else "channel"
    return reverse(f"annotation:{page}", args=[study.slug, is_open[0].key])
