"""Accounts: one-time links that an admin gives out, and, where a study wants it, self-registration."""

from typing import Any

from django import forms
from django.contrib.auth.forms import UserCreationForm
from django.contrib.auth.hashers import make_password
from django.contrib.auth.models import User
from django.core.validators import RegexValidator
from django.db import IntegrityError
from django.http import Http404, HttpRequest, HttpResponse
from django.shortcuts import render
from django.utils import timezone
from django.utils.translation import gettext_lazy as _

from annotation.access import client_ip
from annotation.channel_counts import invitation_counts, raters_of_channel
from annotation.errors import ClaimRefused
from annotation.models import Channel
from annotation.recruitment.arriving import about, lead_on, participant_of_session, sign_in, too_many, turn_away
from annotation.recruitment.base import Adapter, Panel, register
from annotation.recruitment.options import OpenDoorForm
from annotation.registered_names import registered_name
from annotation.services.arrivals import TooManyArrivals, register_account
from annotation.services.attempts import note_attempt
from annotation.services.invitations import LONGEST_DAYS, VALID_DAYS
from annotation.services.participants import new_username, refuse_shut

OFF, PASSWORD, NAME = "off", "password", "name"
MOST_AT_ONCE = 1_000  # links on one page; the command makes more
MOST_SHOWN = 200


class AccountsOptionsForm(OpenDoorForm):
    """Whether people may register by themselves, and how."""

    registration = forms.ChoiceField(
        label=_("Self-registration"),
        required=False,
        choices=[
            (OFF, _("Off: by invitation only")),
            (PASSWORD, _("With a user name and a password")),
            (NAME, _("With a name only: this browser is known afterwards, no other")),
        ],
        help_text=_("Whoever has the address may join. The two limits below hold for them, not for those invited."),
    )
    field_order = ("registration",)

    def clean_registration(self) -> str:
        """Return what was chosen; off where nothing was."""
        return self.cleaned_data["registration"] or OFF


class PasswordForm(UserCreationForm):
    """A user name, and a password typed twice, that Django's validators accept.

    The name is one within the channel: the account gets it with the channel's key.
    """

    def __init__(self, *args: Any, channel: Channel, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self.channel, self.typed = channel, ""

    def clean_username(self) -> str:
        """Return the name that the account gets, if nobody in the channel has it in another spelling."""
        self.typed = self.cleaned_data["username"]
        self.cleaned_data["username"] = registered_name(self.typed, self.channel.key)
        return super().clean_username()

    def save(self, commit: bool = True) -> User:
        """Keep the name as it was typed too: it is what the study's admins call the rater."""
        self.instance.first_name = self.typed
        return super().save(commit)


class NameForm(forms.Form):
    """What the study's admins may call a rater, so that they know whom to give a new link."""

    name = forms.CharField(
        label=_("Your name"),
        max_length=60,
        validators=[RegexValidator(r"[^\W_]", _("Please write a name."))],
        widget=forms.TextInput(attrs={"autocomplete": "name"}),
    )


class InviteForm(forms.Form):
    """How many links, good for how long."""

    count = forms.IntegerField(label=_("How many"), min_value=1, max_value=MOST_AT_ONCE, initial=10)
    days = forms.IntegerField(
        label=_("Good for how many days"), min_value=1, max_value=LONGEST_DAYS, initial=VALID_DAYS
    )


class ReissueForm(forms.Form):
    """Who gets a new link."""

    rater = forms.CharField(label=_("Code of the rater"), max_length=200)


@register
class Accounts(Adapter):
    """Raters with an account here: nameless ones behind a link, or those that people make for themselves."""

    kind = Channel.Kind.ACCOUNTS
    options_form = AccountsOptionsForm

    def arrive(self, request: HttpRequest, channel: Channel) -> HttpResponse:
        """Let somebody register, where the study allows it; elsewhere there is no such page."""
        how = channel.options.get("registration", OFF)
        if how == OFF:
            raise Http404("no self-registration")
        if participant_of_session(request, channel) is not None:
            return lead_on()
        try:
            refuse_shut(channel)
            return self._register(request, channel, how)
        except TooManyArrivals as refusal:
            return too_many(request, channel, str(refusal), refusal.retry_after)
        except ClaimRefused as refusal:
            return turn_away(request, channel, str(refusal))

    def panel(self, channel: Channel) -> Panel:
        """Show the invitations' states, who came, and the forms for new links."""
        raters = raters_of_channel(channel)
        context = {
            "registration": channel.options.get("registration", OFF) != OFF,
            "invitations": invitation_counts(channel, timezone.now()),
            "raters": raters[:MOST_SHOWN],
            "more": max(raters.count() - MOST_SHOWN, 0),
            "invite_form": InviteForm(auto_id="invite_%s"),
            "reissue_form": ReissueForm(auto_id="reissue_%s"),
        }
        return Panel("annotation/recruitment/_accounts_panel.html", context)

    def _register(self, request: HttpRequest, channel: Channel, how: str) -> HttpResponse:
        """Show the form, or make the account that it asks for and sign it in."""
        sent = request.POST if request.method == "POST" else None
        form = PasswordForm(sent, channel=channel) if how == PASSWORD else NameForm(sent)
        if request.method == "POST":
            address, now = client_ip(request), timezone.now()
            note_attempt(channel=channel, address=address, at=now)  # before a name is looked up, or a password hashed
            if form.is_valid():
                try:
                    rater = register_account(channel=channel, user=_account(channel, form), address=address, at=now)
                except IntegrityError:
                    form.add_error("username", _("Somebody has just taken that name. Please choose another."))
                else:
                    sign_in(request, rater.annotator)
                    return lead_on()
        context = about(channel, channel_key=channel.key, form=form, by_password=how == PASSWORD)
        return render(request, "annotation/recruitment/register.html", context, status=422 if form.is_bound else 200)


def _account(channel: Channel, form: forms.Form | UserCreationForm[User]) -> User:
    """Return the account that a form describes, not stored yet; hashing its password takes a while."""
    if isinstance(form, UserCreationForm):
        return form.save(commit=False)
    name = form.cleaned_data["name"]
    return User(username=new_username(channel), first_name=name, password=make_password(None))
