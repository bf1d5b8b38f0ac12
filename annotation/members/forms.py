"""Forms of groups, members and tokens."""

from datetime import datetime, timedelta
from typing import Any

from django import forms
from django.conf import settings
from django.contrib.auth.models import User

from annotation.core.actions import EitherField
from annotation.core.names import ShortNameField, free_short_name
from annotation.members.memberships import GRANTABLE
from annotation.members.permissions import READERS
from annotation.members.tokens import make_token
from annotation.models import ApiToken, ResearchGroup, Study
from annotation.models.members import Role, Scope

NAMES = {
    Role.ANNOTATOR: "Annotator: rates",
    Role.RESEARCHER: "Researcher: reads and exports",
    Role.STUDY_ADMIN: "Study admin: sets up, watches and decides, and gives roles",
}


class NewMember(forms.Form):
    """The account that gets a role. A new one has no password; create its sign-in link on the members page."""

    username = forms.CharField(
        max_length=150,
        label="User name",
        widget=forms.TextInput(attrs={"autocomplete": "off", "autocapitalize": "none", "spellcheck": "false"}),
    )
    role = forms.ChoiceField(choices=[(role.value, NAMES[role]) for role in GRANTABLE], label="Role")
    new = EitherField(
        no="An existing account, by its exact user name",
        yes="A new account: you get a sign-in link to hand on",
        initial=False,
        widget=forms.RadioSelect,
        label="Account",
    )


class MemberForm(NewMember):
    """The same on a page, which can mail the link."""

    address = forms.EmailField(
        required=False,
        label="Send a new account’s sign-in link to this e-mail address",
        help_text="The address is forgotten when the mail is sent.",
    )

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        if not settings.MAIL_ON:
            del self.fields["address"]


class GroupNameForm(forms.Form):
    """A group's new name."""

    name = forms.CharField(max_length=200, label="Name")


class GroupForm(GroupNameForm):
    """A group to be created."""

    slug = ShortNameField(max_length=80, label="Short name", help_text="Part of addresses; it can’t be changed.")
    field_order = ("slug", "name")

    def clean_slug(self) -> str:
        return free_short_name(ResearchGroup, self.cleaned_data["slug"])


class NewToken(forms.Form):
    """An API token to create."""

    name = forms.CharField(max_length=100, label="Name", help_text="What it is for; you see it in the list.")
    scopes = forms.MultipleChoiceField(
        choices=Scope.choices, initial=[Scope.READ], widget=forms.CheckboxSelectMultiple, label="It may"
    )
    studies = forms.ModelMultipleChoiceField(
        Study.objects.none(),
        to_field_name="slug",
        required=False,
        label="Only in these studies",
        help_text="Default: all of yours, later ones too.",
    )
    days = forms.IntegerField(
        min_value=1, max_value=3650, required=False, label="Days valid", help_text="Default: no end."
    )

    def __init__(self, *args: Any, user: User, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        studies: Any = self.fields["studies"]
        studies.queryset = Study.objects.visible_to(user, *READERS).order_by("slug")
        self.user = user

    def run(self, *, at: datetime) -> tuple[ApiToken, str]:
        """Create the token and return it and its key, which can't be had again."""
        days = self.cleaned_data["days"]
        settings = {name: self.cleaned_data[name] for name in ("name", "scopes", "studies")}
        return make_token(user=self.user, **settings, expires_at=at + timedelta(days=days) if days else None, at=at)


class TokenForm(NewToken):
    """The same on a page, which offers some numbers of days."""

    days = forms.TypedChoiceField(  # type: ignore[assignment]
        choices=[(30, "30 days"), (90, "90 days"), (365, "a year"), ("", "no end")],
        coerce=int,
        empty_value=None,
        required=False,
        initial=90,
        label="It is valid for",
    )


class MoveStudyForm(forms.Form):
    """The new group of a study."""

    group = forms.ModelChoiceField(ResearchGroup.objects.none(), label="Group", to_field_name="slug")
    confirmed = forms.BooleanField(label="Yes, end the roles of this study’s researchers and study admins")

    def __init__(self, *args: Any, study: Study, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        fields: dict[str, Any] = self.fields
        fields["group"].queryset = ResearchGroup.objects.exclude(pk=study.group_id)
