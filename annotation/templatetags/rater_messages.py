"""Messages from a study's admins to the signed-in rater."""

from typing import Any

from django import template

from annotation.annotators.messages import unread
from annotation.core.keys import message_key

register = template.Library()


@register.simple_tag(takes_context=True)
def unread_messages(context: dict[str, Any]) -> list[dict[str, Any]]:
    """Return the signed-in rater's unread messages with their keys, in at most one query."""
    request = context.get("request")
    user = getattr(request, "user", None)
    if user is None or context.get("has_notes") is False:
        return []
    return [
        {"key": message_key(message.pk), "text": message.text, "sent_at": message.sent_at} for message in unread(user)
    ]
