"""Verify the token in links that Prolific signs.

docs.prolific.com/api-reference/well-known-endpoints/get-study-jwks: a JWT signed with RS256 by a key of the published
set; it has an expiry (`exp`), our domain as audience (`aud`), and a claim `prolific` with what the study's URL asks for.
The documentation names neither the parameter nor the form of `aud`; other programs read the parameter `prolific_token`,
and take a domain or an address as audience, as this one does.

Verifying an RSA signature needs no secret and one modular power, so no library is used.
"""

import base64
import binascii
import hashlib
import json
from collections.abc import Sequence
from datetime import datetime
from typing import Any
from urllib.parse import urlsplit

from django.core.cache import cache
from django.utils.crypto import constant_time_compare
from django.utils.translation import gettext as _

from annotation.core.errors import ClaimRefused
from annotation.recruitment.outbox import Json
from annotation.recruitment.prolific.client import ProlificClient, ProlificUnreachable

PARAMETER = "prolific_token"
LEEWAY = 60  # seconds of clock difference
KEYS_LIFETIME = 24 * 60 * 60  # keys are fetched at least daily
PAUSE = 60  # seconds between fetches for an unknown key, since tokens can be forged
RETRY_SECONDS = 5  # until Prolific is asked again after it didn't answer
LONGEST = 8192
SMALLEST_KEY = 2048
_SHA256 = bytes.fromhex("3031300d060960864801650304020105000420")  # DigestInfo of RFC 8017, section 9.2


def claims_of(token: str, *, client: ProlificClient, host: str, path: str, at: datetime) -> Json:
    """Return the claims of a token that Prolific signed for this address.

    Raises: ClaimRefused for any other token; ProlificUnreachable when the keys can't be fetched.
    """
    header, payload, signed, signature = _parts(token)
    if header.get("alg") != "RS256" or not isinstance(header.get("kid"), str):
        raise _refused()
    key = _key(client, header["kid"])
    if key is None or not is_signed(signed, signature, key):
        raise _refused()
    expires = payload.get("exp")
    if not isinstance(expires, int | float) or expires + LEEWAY < at.timestamp():
        raise ClaimRefused(_("This link has run out. Please open the study from Prolific again."))
    audience = payload.get("aud")
    audiences = audience if isinstance(audience, list) else [audience]
    if not any(_is_here(one, host, path) for one in audiences):
        raise _refused()
    claims = payload.get("prolific")
    if not isinstance(claims, dict):
        raise _refused()
    return claims


def is_signed(signed: bytes, signature: bytes, key: Json) -> bool:
    """Verify an RS256 signature with a public key.

    The decrypted signature is compared as a whole with the one valid encoding, so nothing in it is parsed.
    """
    try:
        modulus, exponent = (int.from_bytes(_decoded(str(key.get(name, ""))), "big") for name in ("n", "e"))
    except ValueError:
        return False
    size = (modulus.bit_length() + 7) // 8
    sane = key.get("kty") == "RSA" and modulus.bit_length() >= SMALLEST_KEY and 2 < exponent < 2**32 and exponent % 2
    if not sane or size > 1024 or len(signature) != size:
        return False
    number = int.from_bytes(signature, "big")
    if number >= modulus:
        return False
    opened = pow(number, exponent, modulus).to_bytes(size, "big")
    digest = _SHA256 + hashlib.sha256(signed).digest()
    right = b"\x00\x01" + b"\xff" * (size - len(digest) - 3) + b"\x00" + digest
    return constant_time_compare(opened, right)


def _parts(token: str) -> tuple[Json, Json, bytes, bytes]:
    parts = token.split(".")
    if len(parts) != 3 or len(token) > LONGEST or not token.isascii():
        raise _refused()
    try:
        header, payload = (json.loads(_decoded(part)) for part in parts[:2])
        signature = _decoded(parts[2])
    except (ValueError, RecursionError):
        raise _refused() from None
    if not isinstance(header, dict) or not isinstance(payload, dict):
        raise _refused()
    return header, payload, f"{parts[0]}.{parts[1]}".encode(), signature


def _decoded(text: str) -> bytes:
    """Decode base64url without padding, strictly.

    Raises: ValueError.
    """
    try:
        return base64.b64decode(text.encode() + b"=" * (-len(text) % 4), altchars=b"-_", validate=True)
    except binascii.Error as error:
        raise ValueError(str(error)) from None


def _key(client: ProlificClient, kid: str) -> Json | None:
    """Return the key with this id; fetch unknown ones, at most once a PAUSE."""
    name = f"prolific-keys:{client.given.api}"
    keys: Sequence[Json] | None = cache.get(name)
    found = _find(keys or [], kid)
    if found is not None or (keys is not None and not cache.add(f"{name}:asked", True, PAUSE)):
        return found
    if cache.get(f"{name}:away"):  # don't wait for another time-out
        raise ProlificUnreachable(_("Prolific did not answer a moment ago."), may_have_worked=False)
    try:
        keys = client.signing_keys()
    except ProlificUnreachable:
        cache.set(f"{name}:away", True, RETRY_SECONDS)
        raise
    cache.set(name, keys, KEYS_LIFETIME)
    return _find(keys, kid)


def _find(keys: Sequence[Json], kid: str) -> Json | None:
    usable = (key for key in keys if key.get("kid") == kid and key.get("use", "sig") == "sig")
    return next((key for key in usable if key.get("alg", "RS256") == "RS256"), None)


def _is_here(audience: Any, host: str, path: str) -> bool:
    """Tell whether an audience is this domain or address."""
    if not isinstance(audience, str):
        return False
    try:
        parts = urlsplit(audience if "://" in audience else f"https://{audience}")
    except ValueError:
        return False
    return parts.netloc.lower() == host.lower() and parts.path in ("", "/", path)


def _refused() -> ClaimRefused:
    return ClaimRefused(_("This link was not made by Prolific for this study. Please open the study from Prolific."))
