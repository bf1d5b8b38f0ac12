"""The form of the sign-in page."""

from typing import Any

from django import forms
from django.contrib.auth.forms import AuthenticationForm
from django.core.exceptions import ValidationError
from django.utils.translation import gettext as _

from annotation.members.usernames import resolve_username


class SignInForm(AuthenticationForm):
    """User name and password; `channel`: the channel whose page links here, for self-registered raters."""

    channel = forms.CharField(required=False, max_length=32, widget=forms.HiddenInput)

    def __init__(self, request: Any = None, *args: Any, **kwargs: Any) -> None:
        super().__init__(request, *args, **kwargs)
        if request is not None:
            self.fields["channel"].initial = request.GET.get("channel", "")

    def clean(self) -> dict[str, Any]:
        """Resolve the user name, and check the password."""
        typed = self.cleaned_data.get("username")
        if typed:
            self.cleaned_data["username"] = resolve_username(typed, self.cleaned_data.get("channel", ""))
        return super().clean()

    def get_invalid_login_error(self) -> ValidationError:
        """Return the error, which is the same whether or not the account exists."""
        # Several people may have registered under one name, in different channels.
        hint = _("If you registered by yourself, please sign in from the page where you registered.")
        return ValidationError([super().get_invalid_login_error(), ValidationError(hint, code="invalid_login")])
