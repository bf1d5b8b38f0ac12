"""Verify the token in links that Prolific signs.

docs.prolific.com/api-reference/well-known-endpoints/get-study-jwks: a JWT signed with RS256 by a key of the published
set; it has an expiry (`exp`), our domain as audience (`aud`), and a claim `prolific` with what the study's URL asks for.
The documentation names neither the parameter nor the form of `aud`; other programs read the parameter `prolific_token`,
and take a domain or an address as audience, as this one does.
"""

from collections.abc import Sequence
from typing import Any
from urllib.parse import urlsplit

from django.core.cache import cache
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


def claims_of(token: str, *, client: ProlificClient, host: str, path: str) -> Json:
    """Return the claims of a token that Prolific signed for this address.

    Raises: ClaimRefused for any other token; ProlificUnreachable when the keys can't be fetched.
    """
    import jwt  # late: it loads the cryptography library

    if len(token) > LONGEST:
        raise _refused()
    # An address may be the audience, so it is compared below.
    reader = jwt.PyJWT({"require": ["exp"], "verify_aud": False, "enforce_minimum_key_length": True})
    try:
        key = _key(client, jwt.get_unverified_header(token).get("kid"))
        payload = reader.decode(token, jwt.PyJWK(key, "RS256"), algorithms=["RS256"], leeway=LEEWAY)
    except jwt.ExpiredSignatureError:
        raise ClaimRefused(_("This link has run out. Please open the study from Prolific again.")) from None
    except jwt.PyJWTError:
        raise _refused() from None
    audience, claims = payload.get("aud"), payload.get("prolific")
    audiences = audience if isinstance(audience, list) else [audience]
    if not isinstance(claims, dict) or not any(_is_here(name, host, path) for name in audiences):
        raise _refused()
    return claims


def _key(client: ProlificClient, kid: Any) -> Json:
    """Return the key with this id, or an empty one. Unknown ones are fetched, at most once a PAUSE."""
    name = f"prolific-keys:{client.given.api}"
    keys: Sequence[Json] | None = cache.get(name)
    key = _find(keys or [], kid)
    if key or (keys is not None and not cache.add(f"{name}:asked", True, PAUSE)):
        return key
    if cache.get(f"{name}:away"):  # don't wait for another time-out
        raise ProlificUnreachable("Prolific did not answer a moment ago.", may_have_worked=False)
    try:
        keys = client.signing_keys()
    except ProlificUnreachable:
        cache.set(f"{name}:away", True, RETRY_SECONDS)
        raise
    cache.set(name, keys, KEYS_LIFETIME)
    return _find(keys, kid)


def _find(keys: Sequence[Json], kid: Any) -> Json:
    usable = (key for key in keys if key.get("kid") == kid and key.get("use", "sig") == "sig")
    return next((key for key in usable if key.get("alg", "RS256") == "RS256"), {})


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
