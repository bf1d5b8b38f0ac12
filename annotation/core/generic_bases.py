"""Django's classes that are generic in its stubs only: `ModelAdmin[Any]` as a base would fail when it runs."""

from typing import TYPE_CHECKING, Any

from django.contrib.admin import ModelAdmin
from django.contrib.auth.admin import UserAdmin
from django.contrib.auth.forms import UserCreationForm
from django.forms import ModelForm

if TYPE_CHECKING:
    AnyModelAdmin = ModelAdmin[Any]
    AnyModelForm = ModelForm[Any]
    AnyUserAdmin = UserAdmin[Any]
    AnyUserCreationForm = UserCreationForm[Any]
else:
    AnyModelAdmin, AnyModelForm = ModelAdmin, ModelForm
    AnyUserAdmin, AnyUserCreationForm = UserAdmin, UserCreationForm
