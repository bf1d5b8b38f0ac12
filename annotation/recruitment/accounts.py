"""The accounts channel: one-time links that an admin hands out, and optional self-registration."""

from typing import Any

from django import forms
from django.contrib.auth.forms import UserCreationForm
from django.contrib.auth.hashers import make_password
from django.contrib.auth.models import User
from django.core.validators import RegexValidator, validate_email
from django.db import IntegrityError
from django.http import Http404, HttpRequest, HttpResponse
from django.shortcuts import render
from django.utils import timezone
from django.utils.translation import gettext_lazy as _

from annotation.annotators.participants import new_username, refuse_closed
from annotation.core.errors import ClaimRefused
from annotation.core.http import client_ip
from annotation.members.accounts import self_registered_name
from annotation.models import Channel
from annotation.recruitment.arrival_limits import note_attempt, register_account
from annotation.recruitment.arriving import participant_of_session, public_context, redirect_to_work, refused, sign_in
from annotation.recruitment.base import Adapter, Panel, register
from annotation.recruitment.channel_counts import invitation_counts, raters_of_channel, rows_of
from annotation.recruitment.invitations import LONGEST_DAYS, MOST_LINKS, VALID_DAYS
from annotation.recruitment.options import ArrivalLimitsForm, OfBatchForm

OFF, PASSWORD, NAME = "off", "password", "name"
MOST_AT_ONCE = 1_000  # links on one page; the command makes more
MOST_SHOWN = 200


class AccountsOptionsForm(ArrivalLimitsForm):
    """Settings of self-registration."""

    registration = forms.ChoiceField(
        label="Self-registration",
        required=False,
        choices=[
            (OFF, "Off: by invitation only"),
            (PASSWORD, "With a user name and a password"),
            (NAME, "With a name only: works in this browser alone"),
        ],
        help_text="People with the address may join. The two limits below apply to them, not to invited raters.",
    )
    field_order = ("registration",)

    def clean_registration(self) -> str:
        """Default to off."""
        return self.cleaned_data["registration"] or OFF


class PasswordForm(UserCreationForm):  # type: ignore[type-arg]  # generic in its stubs only
    """User name and password, checked by Django's validators.

    Names are unique within a channel: the account's user name ends in the channel's key.
    """

    def __init__(self, *args: Any, channel: Channel, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self.channel, self.typed = channel, ""

    def clean_username(self) -> str:
        """Return the account's user name, if the channel has none that is equal ignoring case and form."""
        self.typed = self.cleaned_data["username"]
        self.cleaned_data["username"] = self_registered_name(self.typed, self.channel.key)
        return super().clean_username()

    def save(self, commit: bool = True) -> User:
        """Store the name as typed, too, for the study's admins."""
        self.instance.first_name = self.typed
        user: User = super().save(commit)
        return user


class NameForm(forms.Form):
    """A rater's name, by which the study's admins know whom to give a new link."""

    name = forms.CharField(
        label=_("Your name"),
        max_length=60,
        validators=[RegexValidator(r"[^\W_]", _("Please write a name."))],
        widget=forms.TextInput(attrs={"autocomplete": "name"}),
    )


class Invite(forms.Form):
    """The number of new raters to invite, and how long their links are valid."""

    count = forms.IntegerField(label="How many", min_value=1, max_value=MOST_LINKS)
    days = forms.IntegerField(label="Days valid", min_value=1, max_value=LONGEST_DAYS, initial=VALID_DAYS)


class StudyInvite(Invite, OfBatchForm):
    """How many raters are invited to a study or to one of its batches."""


class InviteForm(Invite):
    """The page of invitations, which lists the links."""

    count = forms.IntegerField(label="How many", min_value=1, max_value=MOST_AT_ONCE, initial=10)


class MailInviteForm(InviteForm):
    """The same, and addresses that the links are sent to."""

    addresses = forms.CharField(
        label="Send them to these e-mail addresses, one a line",
        required=False,
        max_length=100_000,
        widget=forms.Textarea(attrs={"rows": 3, "spellcheck": "false"}),
        help_text="One link for each, whatever the number above. An address is forgotten when its mail is sent.",
    )

    def clean_addresses(self) -> list[str]:
        """Return the addresses, each once."""
        addresses = list(dict.fromkeys(self.cleaned_data["addresses"].split()))
        for address in addresses:
            try:
                validate_email(address)
            except forms.ValidationError:
                raise forms.ValidationError(f"{address} is not an e-mail address; nothing was sent.") from None
        if len(addresses) > MOST_AT_ONCE:
            raise forms.ValidationError(f"{len(addresses)} links are too many; create 1 to {MOST_AT_ONCE} at once.")
        return addresses


class ReissueForm(forms.Form):
    """A rater of the channel who has lost access."""

    rater = forms.CharField(label="Code of the rater", max_length=100)


@register
class Accounts(Adapter):
    """Raters with accounts on this server: made with a link, or by self-registration."""

    kind = Channel.Kind.ACCOUNTS
    summary = (
        "For people you know or can write to: each gets a link that works once. Self-registration can be switched on."
    )
    options_form = AccountsOptionsForm

    def arrive(self, request: HttpRequest, channel: Channel) -> HttpResponse:
        """Let a visitor register where the channel allows it, else return a 404."""
        how = channel.options.get("registration", OFF)
        if how == OFF:
            raise Http404("no self-registration")
        if participant_of_session(request, channel) is not None:
            return redirect_to_work()
        sent = request.POST if request.method == "POST" else None
        form = PasswordForm(sent, channel=channel) if how == PASSWORD else NameForm(sent)
        address, now = client_ip(request), timezone.now()
        try:
            refuse_closed(channel)
            if sent is not None:
                note_attempt(channel=channel, address=address, at=now)  # before the costly steps, as hashing a password
                if form.is_valid():
                    if isinstance(form, PasswordForm):
                        user = form.save(commit=False)
                    else:
                        name, password = form.cleaned_data["name"], make_password(None)
                        user = User(username=new_username(channel), first_name=name, password=password)
                    rater = register_account(channel=channel, user=user, address=address, at=now)
                    sign_in(request, rater.annotator)
                    return redirect_to_work()
        except ClaimRefused as refusal:
            return refused(request, channel, refusal)
        except IntegrityError:
            form.add_error("username", _("That name has just been taken. Please choose another."))
        context = public_context(channel, channel_key=channel.key, form=form, by_password=how == PASSWORD)
        return render(request, "annotation/recruitment/register.html", context, status=422 if form.is_bound else 200)

    def panel(self, channel: Channel) -> Panel:
        """Show invitation counts, the raters, and the forms for new links."""
        context = {
            "registration": channel.options.get("registration", OFF) != OFF,
            "invitations": invitation_counts(channel, timezone.now()),
            **rows_of(raters_of_channel(channel), MOST_SHOWN),
            "reissue_form": ReissueForm(auto_id="reissue_%s"),
        }
        return Panel("annotation/recruitment/_accounts_panel.html", context)
