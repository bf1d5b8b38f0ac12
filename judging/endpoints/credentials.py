"""An endpoint's key and headers. Secrets stay in the environment.

Site admins choose where these are sent, so only variables whose names mark them as endpoints' keys can be named.
"""

import re
from collections.abc import Mapping

from django.conf import settings

from judging.core.errors import BadSettings
from judging.models import Endpoint

VARIABLE = re.compile(r"(?!DATABASE_|DJANGO_|AWS_|.*(?:SECRET|PROLIFIC|MTURK))(?=.*(?:KEY|TOKEN))[A-Z][A-Z0-9_]{0,99}")
FROM_VARIABLE = "env:"
MAX_HEADERS = 20
MAX_HEADER_LENGTH = 1000
HEADER_NAME = re.compile(r"[A-Za-z0-9!#$%&'*+.^_`|~-]{1,100}")
HEADER_VALUE = re.compile(r"[\x20-\x7e]*")
# Such names and values indicate a secret.
SECRET_NAME = re.compile(
    r"auth|cookie|credential|passw|secret|session|signature|token|api[-_]?key|access[-_]?key|(?:^|[-_])key(?:$|[-_])",
    re.IGNORECASE,
)
SECRET_VALUE = re.compile(
    r"(?:bearer|basic|digest|token)\s|(?:sk|pk|rk|ghp|hf|xox[a-z])[-_]\w{8}|eyJ[\w-]{8}", re.IGNORECASE
)
# Set by the client; other values would change where the request goes or how it is parsed.
RESERVED_HEADERS = frozenset(
    {
        *("accept", "accept-encoding", "connection", "content-encoding", "content-length", "content-type", "expect"),
        *("host", "http2-settings", "keep-alive", "proxy-connection", "te", "trailer", "transfer-encoding"),
        *("upgrade", "user-agent", "via"),
    }
)


def check_key_env(key_env: str) -> None:
    """Refuse what isn't the name of a variable for an endpoint's key. The error doesn't repeat it: it may be a key.

    Raises: BadSettings
    """
    if key_env and not VARIABLE.fullmatch(key_env):
        raise BadSettings(
            "give the name of an environment variable for this key, in capitals with KEY or TOKEN, such as "
            "MY_API_KEY, and never the key itself; the server's own variables (DATABASE_…, DJANGO_…, AWS_…, "
            "…SECRET…) are not allowed"
        )


def check_headers(headers: object) -> None:
    """Refuse headers that can't be sent, that are reserved, or that hold a secret in plain text.

    Raises: BadSettings, without the value.
    """
    if not isinstance(headers, dict) or len(headers) > MAX_HEADERS:
        raise BadSettings(f"headers must be an object of at most {MAX_HEADERS} names with their values")
    if len({str(name).lower() for name in headers}) < len(headers):
        raise BadSettings("a header is given twice")
    for name, value in headers.items():
        check_header(name, value)


def check_header(name: str, value: object) -> None:
    """Refuse one header.

    Raises: BadSettings
    """
    if not HEADER_NAME.fullmatch(name):
        raise BadSettings("a header's name must be made of letters, digits and dashes")
    if name.lower() in RESERVED_HEADERS:
        raise BadSettings(f"the header {name} is set by the client itself")
    if not isinstance(value, str) or len(value) > MAX_HEADER_LENGTH or not HEADER_VALUE.fullmatch(value):
        raise BadSettings(f"the value of the header {name} must be one line of plain ASCII text")
    if value.startswith(FROM_VARIABLE):
        variable = value.removeprefix(FROM_VARIABLE)
        if not variable:
            raise BadSettings(f"the header {name} names no environment variable behind {FROM_VARIABLE}")
        check_key_env(variable)
    elif SECRET_NAME.search(name) or SECRET_VALUE.match(value):
        raise BadSettings(
            f"the header {name} seems to hold a secret, and secrets are never stored: put it into an "
            f"environment variable, and write {FROM_VARIABLE}MY_API_KEY as the value"
        )


def key_of(endpoint: Endpoint) -> str | None:
    """Return the endpoint's key from the environment.

    Raises: BadSettings if its variable is not set, or holds what can't be sent.
    """
    if not endpoint.key_env:
        return None
    key = settings.ENDPOINT_KEY(endpoint.key_env)
    if key is None:
        raise BadSettings(f"endpoint {endpoint.name} takes its key from {endpoint.key_env}, which is not set here")
    key = str(key).strip()  # a key read from a file may end in a newline
    if not HEADER_VALUE.fullmatch(key):
        raise BadSettings(f"the variable {endpoint.key_env} holds what can't be sent as a key: not one line of ASCII")
    return key


def headers_of(endpoint: Endpoint) -> tuple[dict[str, str], list[str]]:
    """Return the headers to send with their variables resolved, and the secret values among them.

    Raises: BadSettings for headers that `check_headers` refuses, or a variable that is not set.
    """
    check_headers(endpoint.headers)
    headers: Mapping[str, str] = endpoint.headers
    sent, secrets = {}, []
    for name, value in headers.items():
        if value.startswith(FROM_VARIABLE):
            variable = value.removeprefix(FROM_VARIABLE)
            key = settings.ENDPOINT_KEY(variable)
            if key is None:
                raise BadSettings(
                    f"endpoint {endpoint.name} takes the header {name} from {variable}, which is not set here"
                )
            if not HEADER_VALUE.fullmatch(key):
                raise BadSettings(f"the variable {variable} holds what can't be sent as the header {name}")
            value = str(key)
            secrets.append(value)
        sent[name] = value
    return sent, secrets
