"""Django's class that is generic in its stubs only: `UserCreationForm[Any]` as a base would fail when it runs."""

from typing import TYPE_CHECKING, Any

from django.contrib.auth.forms import UserCreationForm

if TYPE_CHECKING:
    AnyUserCreationForm = UserCreationForm[Any]
else:
    AnyUserCreationForm = UserCreationForm
