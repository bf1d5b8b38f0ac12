"""Reasons in answers."""

from typing import Any

from rest_framework import serializers


class WithMessage(serializers.Serializer[Any]):
    """Why work stopped, as text and as a code. Both are empty without a reason."""

    message = serializers.CharField(source="message.text", read_only=True, help_text="Why it stopped.")
    message_code = serializers.CharField(source="message.code", read_only=True, help_text="Code of the message.")


MESSAGE = tuple(WithMessage().fields)
