"""User names of self-registered people: the chosen name and the channel's key.

So a chosen name can't be mistaken for another account, takes no name away, and doesn't reveal which accounts exist.
People sign in with the chosen name; it is resolved by the channel, or without one if it is unique.
"""

from django.contrib.auth.models import User
from django.db.models import CharField, F, Value
from django.db.models.functions import Concat

from annotation.models import Annotator, Channel

SEPARATOR = "@@"  # valid in user names, but refused in names given by admins


def self_registered_name(name: str, channel_key: str) -> str:
    """Return the user name of a person who registers in a channel as `name`."""
    return f"{name}{SEPARATOR}{channel_key}"


def is_self_registered_name(username: str) -> bool:
    """Tell whether a user name belongs to a self-registered person."""
    return SEPARATOR in username


def is_self_registered(user: User) -> bool:
    """Tell whether an account was created through a channel, so that its owner is unknown."""
    return is_self_registered_name(user.username) or user.annotators.exclude(kind=Annotator.Kind.ACCOUNT).exists()


def resolve_username(typed: str, channel_key: str = "") -> str:
    """Return the user name for a typed name, in a channel or without one.

    Without a channel, a name with no or with several registrations is returned unchanged.
    """
    accounts = User.objects.order_by().values_list("username", flat=True)
    if channel_key:
        inside = self_registered_name(typed, channel_key)
        return inside if accounts.filter(username=inside).exists() else typed
    if accounts.filter(username=typed).exists():
        return typed
    names = Channel.objects.filter(kind=Channel.Kind.ACCOUNTS).order_by()
    inside_any = names.values(inside=Concat(Value(f"{typed}{SEPARATOR}"), F("key"), output_field=CharField()))
    matching = list(accounts.filter(username__in=inside_any)[:2])
    return matching[0] if len(matching) == 1 else typed
