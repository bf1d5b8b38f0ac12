"""Template filters shared by all pages."""

from datetime import UTC, datetime
from typing import Any

from django import template
from django.template import Context
from django.utils.formats import date_format
from django.utils.html import format_html
from django.utils.safestring import SafeString

from annotation.annotators.messages import unread
from annotation.batches.sampling import chosen_in_words
from annotation.core.counting import counted
from annotation.core.http import is_for_raters, is_htmx
from annotation.core.keys import message_key
from annotation.core.markdown import render, shown_text
from annotation.members.permissions import READERS, has_any_role, has_group_role
from annotation.models.members import Role
from annotation.models.studies import DEFAULT_CONSENT
from annotation.questions.labels import isolated, side_name, stacked_label, translate_default
from annotation.studies.hourly_pay import hourly_pay_of

register = template.Library()
register.filter("is_for_raters", is_for_raters)
register.filter("is_htmx", is_htmx)
register.filter("number_of", counted)
register.filter("chosen_in_words", chosen_in_words)
register.filter("hourly_pay", hourly_pay_of)
register.filter("translate_default", translate_default)
register.filter("side_name", side_name)
register.filter("isolated", isolated)
register.filter("stacked", stacked_label)
register.filter("shown_text", shown_text)
register.filter("as_markdown", render)
_FORMATS = {"datetime": "DATETIME_FORMAT", "short": "SHORT_DATETIME_FORMAT", "date": "DATE_FORMAT"}


@register.simple_tag(takes_context=True)
def roles(context: Context) -> dict[str, bool]:
    """Tell which parts of the navigation the account that is signed in sees."""
    user = context.get("user")
    if user is None or not user.is_authenticated:
        return {}
    return {
        "may_rate": has_any_role(user, Role.ANNOTATOR),
        "may_read": has_any_role(user, *READERS),
        "may_see_groups": has_group_role(user, *READERS),
    }


@register.filter
def local_time(moment: datetime, shown: str = "datetime") -> SafeString:
    """Show a time in UTC, which a script replaces by the browser's time zone."""
    utc = moment.astimezone(UTC)
    return format_html(
        '<time datetime="{}" data-local="{}">{} UTC</time>',
        utc.isoformat(),
        shown,
        date_format(utc, _FORMATS[shown]),
    )


@register.filter
def is_default_consent(text: str) -> bool:
    """Tell whether a consent text is the English default."""
    return text == DEFAULT_CONSENT


@register.filter
def number(value: float | None, decimals: int = 3) -> str:
    """Show a number with its decimals, or a dash for None."""
    return "–" if value is None else f"{value:.{decimals}f}"


@register.simple_tag(takes_context=True)
def unread_messages(context: Context) -> list[dict[str, Any]]:
    """Return the signed-in rater's unread messages with their keys, in at most one query."""
    request = context.get("request")
    user = getattr(request, "user", None)
    if user is None or context.get("has_notes") is False:
        return []
    return [
        {"key": message_key(message.pk), "text": message.text, "sent_at": message.sent_at} for message in unread(user)
    ]
