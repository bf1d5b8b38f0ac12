"""Links that Prolific signs: a token in the address says who comes, and its signature that Prolific says so.

docs.prolific.com/api-reference/well-known-endpoints/get-study-jwks: a JWT signed with RS256, by a key of the published
set; it hasn't expired (`exp`), its audience (`aud`) is our domain, and its claim `prolific` holds what the study's URL
asks for. The stored documentation names neither the parameter nor the form of `aud`; programs that take such links read
the parameter `prolific_token`, and an audience that is a domain or an address, so both are taken here.

Checking an RSA signature takes no secret and one power: no library is needed for it.
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

from annotation.errors import ClaimRefused
from annotation.services.prolific_client import Json, ProlificClient, ProlificUnreachable

PARAMETER = "prolific_token"
LEEWAY = 60  # seconds that two clocks may differ by
KEPT = 24 * 60 * 60  # keys are to be looked up at least daily
PAUSE = 60  # between two look-ups for a key that isn't there: tokens are anybody's to make up
AWAY = 5  # seconds in which Prolific isn't asked again after it didn't answer
LONGEST = 8192
SMALLEST_KEY = 2048
_SHA256 = bytes.fromhex("3031300d060960864801650304020105000420")  # DigestInfo of RFC 8017, section 9.2


def claims_of(token: str, *, client: ProlificClient, host: str, path: str, at: datetime) -> Json:
    """Return the ids in a token that Prolific signed for this address.

    Raises: ClaimRefused for any other token; ProlificUnreachable when the keys can't be had.
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
    """Check an RS256 signature against a public key.

    What the signature opens to is compared as a whole with the one text that is right, so that nothing in it is parsed.
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
    """Read base64url without padding, strictly.

    Raises: ValueError.
    """
    try:
        return base64.b64decode(text.encode() + b"=" * (-len(text) % 4), altchars=b"-_", validate=True)
    except binascii.Error as error:
        raise ValueError(str(error)) from None


def _key(client: ProlificClient, kid: str) -> Json | None:
    """Return the key of this id; one that isn't known is looked up, but not each time that somebody makes one up."""
    name = f"prolific-keys:{client.given.api}"
    keys: Sequence[Json] | None = cache.get(name)
    found = _find(keys or [], kid)
    if found is not None or (keys is not None and not cache.add(f"{name}:asked", True, PAUSE)):
        return found
    if cache.get(f"{name}:away"):  # whoever comes next doesn't wait for the same silence
        raise ProlificUnreachable(_("Prolific did not answer a moment ago."), may_have_worked=False)
    try:
        keys = client.signing_keys()
    except ProlificUnreachable:
        cache.set(f"{name}:away", True, AWAY)
        raise
    cache.set(name, keys, KEPT)
    return _find(keys, kid)


def _find(keys: Sequence[Json], kid: str) -> Json | None:
    usable = (key for key in keys if key.get("kid") == kid and key.get("use", "sig") == "sig")
    return next((key for key in usable if key.get("alg", "RS256") == "RS256"), None)


def _is_here(audience: Any, host: str, path: str) -> bool:
    """Tell whether an audience is this domain, or this very address."""
    if not isinstance(audience, str):
        return False
    try:
        parts = urlsplit(audience if "://" in audience else f"https://{audience}")
    except ValueError:
        return False
    return parts.netloc.lower() == host.lower() and parts.path in ("", "/", path)


def _refused() -> ClaimRefused:
    return ClaimRefused(_("This link was not made by Prolific for this study. Please open the study from Prolific."))
