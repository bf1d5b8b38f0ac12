"""Secrets that stand in the database and in settings, and in no response."""

from base64 import b32encode

import pytest
from django.conf import settings
from django.contrib.auth.models import User
from django.utils import timezone
from django_otp.plugins.otp_static.models import StaticDevice, StaticToken
from django_otp.plugins.otp_totp.models import TOTPDevice

from annotation.members.tokens import make_token
from annotation.models import Invitation
from annotation.models.members import Scope
from judging.models import Endpoint

SEED = "5ec2e7ba5e" * 4


def plant_secrets(user: User, patch: pytest.MonkeyPatch) -> list[str]:
    """Give an account a password, second factor and token, and the server keys; return what no response may hold."""
    user.password = "argon2$planted-hash"  # no password
    user.save()
    TOTPDevice.objects.create(user=user, name="app", key=SEED)
    StaticToken.objects.create(device=StaticDevice.objects.create(user=user, name="backup"), token="planted-code")
    token, key = make_token(user=user, name="planted", scopes=Scope.values, at=timezone.now())
    Endpoint.objects.update(key_env="PLANTED_KEY")
    patch.setenv("PLANTED_KEY", "planted-endpoint-key")
    patch.setattr(settings, "EMAIL_HOST_PASSWORD", "planted-smtp-password")
    return [
        *("planted-hash", "planted-code", "planted-endpoint-key", "planted-smtp-password"),
        *(SEED, b32encode(bytes.fromhex(SEED)).decode(), key, token.digest, settings.SECRET_KEY),
        *Invitation.objects.values_list("digest", flat=True),
    ]
