"""What a study's admins tell the rater who looks at a page."""

from typing import Any

from django import template

from annotation.keys import message_key
from annotation.services.messages import unread

register = template.Library()


@register.simple_tag(takes_context=True)
def unread_notes(context: dict[str, Any]) -> list[dict[str, Any]]:
    """Return the messages that this page's reader hasn't put away, each with its key; one query.

    None where the view knows already, and says as `has_notes`, that there is nothing to look for.
    """
    request = context.get("request")
    user = getattr(request, "user", None)
    if user is None or context.get("has_notes") is False:
        return []
    return [{"key": message_key(one.pk), "text": one.text, "sent_at": one.sent_at} for one in unread(user)]
