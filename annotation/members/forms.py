"""Forms of groups and members."""

from typing import Any

from django import forms
from django.conf import settings

from annotation.core.names import ShortNameField
from annotation.members.memberships import GRANTABLE
from annotation.models import ResearchGroup, Study
from annotation.models.members import Role

NAMES = {
    Role.ANNOTATOR: "Annotator: rates",
    Role.RESEARCHER: "Researcher: reads and exports",
    Role.STUDY_ADMIN: "Study admin: sets up, watches and decides, and gives roles",
}


class MemberForm(forms.Form):
    """The account and role of a new member."""

    EXISTING, NEW = "existing", "new"

    username = forms.CharField(
        max_length=150,
        label="User name",
        widget=forms.TextInput(attrs={"autocomplete": "off", "autocapitalize": "none", "spellcheck": "false"}),
    )
    role = forms.ChoiceField(choices=[(role.value, NAMES[role]) for role in GRANTABLE], label="Role")
    account = forms.ChoiceField(
        choices=[
            (EXISTING, "An existing account, by its exact user name"),
            (NEW, "A new account: you get a sign-in link to hand on"),
        ],
        initial=EXISTING,
        widget=forms.RadioSelect,
        label="Account",
    )
    address = forms.EmailField(
        required=False,
        label="Send a new account’s sign-in link to this e-mail address",
        help_text="The address is forgotten when the mail is sent.",
    )

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        if not settings.MAIL_ON:
            del self.fields["address"]

    @property
    def arguments(self) -> dict[str, Any]:
        """Arguments of `add_member`, from a valid form."""
        cleaned = self.cleaned_data
        return {
            "username": cleaned["username"],
            "role": cleaned["role"],
            "must_be_new": cleaned["account"] == self.NEW,
        }


class GroupForm(forms.Form):
    """A new group."""

    slug = ShortNameField(max_length=80, label="Short name", help_text="Part of addresses; it can’t be changed.")
    name = forms.CharField(max_length=200, label="Name")


class GroupNameForm(forms.Form):
    """A group's new name."""

    name = forms.CharField(max_length=200, label="Name")


class MoveStudyForm(forms.Form):
    """The new group of a study."""

    group = forms.ModelChoiceField(ResearchGroup.objects.none(), label="Group", to_field_name="slug")
    confirmed = forms.BooleanField(label="Yes, end the roles of this study’s researchers and study admins")

    def __init__(self, *args: Any, study: Study, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        fields: dict[str, Any] = self.fields
        fields["group"].queryset = ResearchGroup.objects.exclude(pk=study.group_id)
