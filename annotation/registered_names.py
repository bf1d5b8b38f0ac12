"""User names of people who register by themselves: in a space of their own for each channel.

A name that somebody gives themselves says nothing about who they are. Kept apart, it can't be taken for the account of
whoever is called so, it takes no name from anybody, and nobody learns from it which accounts there are. People type
their name as they gave it: the page of their channel knows which account is meant, and the sign-in page does where
there is one only.
"""

from django.contrib.auth.models import User
from django.db.models import CharField, F, Value
from django.db.models.functions import Concat

from annotation.models import Annotator, Channel

MARK = "@@"  # taken by every rule for user names, and given to nobody by hand


def registered_name(name: str, channel_key: str) -> str:
    """Return the user name of somebody who registers in a channel under `name`."""
    return f"{name}{MARK}{channel_key}"


def is_registered_name(username: str) -> bool:
    """Tell whether a user name is one that somebody gave themselves."""
    return MARK in username


def came_by_themselves(user: User) -> bool:
    """Tell whether an account was made through a channel, so that its name vouches for nobody."""
    return is_registered_name(user.username) or user.annotators.exclude(kind=Annotator.Kind.ACCOUNT).exists()


def username_meant(typed: str, channel_key: str = "") -> str:
    """Return the user name that somebody means who types `typed`, on the page of a channel or anywhere.

    It is `typed` itself when nobody registered under it, or several people did, in different channels.
    """
    accounts = User.objects.order_by().values_list("username", flat=True)
    if channel_key:
        inside = registered_name(typed, channel_key)
        return inside if accounts.filter(username=inside).exists() else typed
    if accounts.filter(username=typed).exists():
        return typed
    names = Channel.objects.filter(kind=Channel.Kind.ACCOUNTS).order_by()
    inside_any = names.values(inside=Concat(Value(f"{typed}{MARK}"), F("key"), output_field=CharField()))
    found = list(accounts.filter(username__in=inside_any)[:2])
    return found[0] if len(found) == 1 else typed
