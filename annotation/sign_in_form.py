"""The form of the sign-in page."""

from typing import Any

from django import forms
from django.contrib.auth.forms import AuthenticationForm
from django.core.exceptions import ValidationError
from django.utils.translation import gettext as _

from annotation.registered_names import username_meant


class SignInForm(AuthenticationForm):
    """User name and password; who comes from the page of a channel may be somebody who registered there."""

    channel = forms.CharField(required=False, max_length=32, widget=forms.HiddenInput)

    def __init__(self, request: Any = None, *args: Any, **kwargs: Any) -> None:
        super().__init__(request, *args, **kwargs)
        if request is not None:
            self.fields["channel"].initial = request.GET.get("channel", "")

    def clean(self) -> dict[str, Any]:
        """Find the account that is meant, and check the password against it."""
        typed = self.cleaned_data.get("username")
        if typed:
            self.cleaned_data["username"] = username_meant(typed, self.cleaned_data.get("channel", ""))
        return super().clean()

    def get_invalid_login_error(self) -> ValidationError:
        """Say what may be wrong; the same whether or not there is such an account."""
        # One name may be several people's, each in a channel of their own.
        hint = _("If you registered by yourself, please sign in from the page where you registered.")
        return ValidationError([super().get_invalid_login_error(), ValidationError(hint, code="invalid_login")])
