"""The one place that reads the environment: every setting that an installation may change, with its default."""

import logging
import os
import secrets
import sys
from contextlib import suppress
from decimal import Decimal
from importlib.util import find_spec
from pathlib import Path
from typing import Any, NoReturn
from urllib.parse import unquote, urlsplit
from urllib.request import getproxies_environment

import environ
from platformdirs import user_data_path

PACKAGES_DIR = Path(__file__).resolve().parent.parent
# A wheel has templates, static files, translations and examples in this folder, a checkout at its top (pyproject.toml).
ASSETS_DIR = PACKAGES_DIR / "config" / "assets"
IS_INSTALLED = ASSETS_DIR.is_dir()
COMMAND = "tandem" if IS_INSTALLED else "manage.py"  # with which messages say how to run another one
BASE_DIR = ASSETS_DIR if IS_INSTALLED else PACKAGES_DIR

CANT_BOOT = 3  # exit status at which gunicorn stops; it would start a worker that ends with another one again and again


def _hide_line(record: logging.LogRecord) -> bool:
    """Keep the line of a .env that can't be read out of the log (filter of django-environ's logger): it may hold a key."""
    if record.levelno >= logging.WARNING:
        record.msg, record.args = "a line of .env is not NAME=VALUE, and was left out", ()
    return True


logging.getLogger("environ.environ").addFilter(_hide_line)
env = environ.Env()
if not IS_INSTALLED:
    env.read_env(BASE_DIR / ".env")
_default_data_dir = user_data_path("tandem", appauthor=False) if IS_INSTALLED else BASE_DIR / "var"
DATA_DIR = Path(env.str("TANDEM_DATA_DIR", default="") or _default_data_dir)
if IS_INSTALLED:  # next to the packages it would go with the next upgrade
    env.read_env(DATA_DIR / ".env")
# Its files hold sessions and tokens, so other users of the machine must not read them. An existing folder is not changed.
try:
    DATA_DIR.mkdir(mode=0o700, parents=True, exist_ok=True)
except OSError as error:
    sys.stderr.write(f"Tandem can't start: the data folder {DATA_DIR} can't be made: {error.strerror}.\n")
    sys.exit(CANT_BOOT)
PRODUCTION = env.bool("PRODUCTION", default=False)
DEBUG = env.bool("DEBUG", default=False)
ALLOWED_HOSTS = env.list("ALLOWED_HOSTS", default=["localhost", "127.0.0.1", "[::1]"])
CSRF_TRUSTED_ORIGINS = env.list("CSRF_TRUSTED_ORIGINS", default=[])
HTTPS_ONLY = env.bool("HTTPS_ONLY", default=False)
BEHIND_PROXY = env.bool("BEHIND_PROXY", default=HTTPS_ONLY)
SECOND_FACTOR_REQUIRED = env.bool("SECOND_FACTOR_REQUIRED", default=False)
DATABASE_URL = env.str("DATABASE_URL", default="") or f"sqlite:///{DATA_DIR / 'tandem.sqlite3'}"
TASKS_URL = env.str("TASKS_URL", default="")
PREPARE_STATEMENTS = env.bool("PREPARE_STATEMENTS", default=True)
ENDPOINT_ALLOWLIST = env.list("ENDPOINT_ALLOWLIST", default=[])
_proxies = getproxies_environment()
_proxy = env.str("ENDPOINT_PROXY", default="") or _proxies.get("https", "")
ENDPOINT_PROXY = _proxy if "://" in _proxy or not _proxy else f"http://{_proxy}"
NO_PROXY = [name.strip() for name in _proxies.get("no", "").split(",") if name.strip()]
PROMPT_FOLDER = env.str("PROMPT_FOLDER", default="")
MODEL_FOLDER = Path(env.str("MODEL_FOLDER", default="") or DATA_DIR / "models")
MODEL_DOWNLOADS = env.bool("MODEL_DOWNLOADS", default=False)
PLATFORM_ALLOWLIST = env.list("PLATFORM_ALLOWLIST", default=[])
BONUS_CEILING = env.int("BONUS_CEILING", default=100)
LEAST_HOURLY_PAY = {currency: Decimal(pay) for currency, pay in env.dict("LEAST_HOURLY_PAY", default={}).items()}
PORT = env.str("PORT", default="8000")
LISTEN_HOST = env.str("LISTEN_HOST", default="127.0.0.1")
WEB_PROCESSES = env.int("WEB_PROCESSES", default=2)
WEB_THREADS = env.int("WEB_THREADS", default=4)
BASE_URL = env.str("BASE_URL", default=f"http://localhost:{PORT}")
LOG_LEVEL = env.str("LOG_LEVEL", default="INFO")
LOG_FORMAT = env.str("LOG_FORMAT", default="line")
SLOW_QUERY_SECONDS = env.float("SLOW_QUERY_SECONDS", default=1.0)
METRICS_TOKEN = env.str("METRICS_TOKEN", default="")

ERASURE_LOG = Path(env.str("ERASURE_LOG", default="") or DATA_DIR / "erasures.jsonl")

BACKUP_HOURS = env.int("BACKUP_HOURS", default=0)
EMAIL_URL = env.str("EMAIL_URL", default="")
MAIL_FROM = env.str("MAIL_FROM", default="")

ENCODED = "with special characters in percent encoding"  # of addresses with passwords
SHORTEST_KEY = 32  # characters: 128 bits in hexadecimal digits
FEWEST_CHARACTERS = 5  # different ones, as Django's own check asks for
OF_AN_EXAMPLE = "django-insecure-"  # keys that Django writes into new projects, often published with them


def secret(name: str) -> str | None:
    """Value of an environment variable that holds a key, or `None` when it is not set. Never stored, never logged."""
    return env.str(name, default="") or None


def for_programs(**changes: str) -> dict[str, str]:
    """Environment of a Python program that this one starts, or becomes: it imports our packages, whatever the current
    folder holds.
    """
    variables = dict(os.environ) | changes | {"PYTHONSAFEPATH": "1"}
    if not IS_INSTALLED:
        variables["PYTHONPATH"] = os.pathsep.join(filter(None, [str(PACKAGES_DIR), variables.get("PYTHONPATH")]))
    return variables


def metrics_dir() -> str:
    """Folder of the counters of a web server's processes, or an empty string where each has its own."""
    return str(env.str("PROMETHEUS_MULTIPROC_DIR", default=""))


def keep_counters_in(folder: str) -> None:
    """Have the processes that this one forks share their counters, by a folder."""
    os.environ["PROMETHEUS_MULTIPROC_DIR"] = folder


def use_one_thread() -> None:
    """Let this program's linear algebra have one thread unless the environment says otherwise: its arrays gain from no more."""
    os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")


MAKE_KEY = "Make one by: python -c 'import secrets; print(secrets.token_urlsafe(48))'"


def secret_key() -> str:
    """Django's signing key: from SECRET_KEY, else from a file that is made once with a random key."""
    path = DATA_DIR / "secret_key"
    if key := secret("SECRET_KEY"):
        advice = MAKE_KEY if PRODUCTION else f"Give a longer random one; without it, a key is made in {path}."
        return _strong(key, "SECRET_KEY, from the environment or .env,", advice)
    restore = (
        "Restore the file from a backup, or delete the file for a new key. All users are signed out then; links that were "
        "sent and browsers of anonymous raters are no longer known."
    )
    if not path.exists():
        if PRODUCTION:  # each of several machines would make its own
            _refuse_key("SECRET_KEY", f"it is not set, and there is no file {path}", MAKE_KEY)
        _make_key(path)
    try:
        return _strong(path.read_text(encoding="ascii"), str(path), restore)
    except UnicodeDecodeError:
        _refuse_key(str(path), "it is not text in ASCII", restore)
    except OSError as error:
        _refuse_key(str(path), f"it can't be read: {error.strerror}", restore)


def tasks() -> tuple[dict[str, Any], dict[str, Any]]:
    """Django's setting of the queue, and django-rq's: tasks are rows of the database, and with TASKS_URL Redis delivers them."""
    if not TASKS_URL:
        return {"default": {"BACKEND": "django_tasks_db.DatabaseBackend", "QUEUES": ["default"]}}, {}
    try:
        address = urlsplit(TASKS_URL)
        port, number = address.port or 6379, int(address.path.strip("/") or 0)
        is_redis = address.scheme in {"redis", "rediss"} and bool(address.hostname)
    except ValueError:
        is_redis = False
    if not is_redis:
        _refuse(f"TASKS_URL must be redis://:PASSWORD@HOST:PORT/NUMBER, or rediss:// with TLS, {ENCODED}.")
    if find_spec("django_tasks_rq") is None:
        _refuse("TASKS_URL needs an extra: pip install 'tandem-eval[redis]'")
    module = "annotation.core.tasks.redis_queue"
    backends = {
        "default": {"BACKEND": f"{module}.RecordedBackend", "QUEUES": ["default"]},
        "redis": {"BACKEND": f"{module}.DeliveryBackend", "QUEUES": ["tandem"]},
    }
    rq = {
        "HOST": address.hostname,
        "PORT": port,
        "DB": number,
        "USERNAME": unquote(address.username or "") or None,
        "PASSWORD": unquote(address.password or "") or None,
        "SSL": address.scheme == "rediss",
        # A request waits for Redis two seconds at most, and does not try again: the task is recorded.
        "REDIS_CLIENT_KWARGS": {"socket_connect_timeout": 2, "socket_timeout": 2, "retry": None},
        "DEFAULT_TIMEOUT": -1,
        "SERIALIZER": "rq.serializers.JSONSerializer",  # pickles could run code
    }
    return backends, {"tandem": rq}


def _refuse(reason: str) -> NoReturn:
    """End the program. What a library says of an address is not repeated: it may hold the password."""
    sys.stderr.write(f"Tandem can't start: {reason}\n")
    sys.exit(CANT_BOOT)


def _make_key(path: Path) -> None:
    """Write a random key into a file, which is there only when the whole key is on the disk."""
    fresh = path.with_name(f"{path.name}.{os.getpid()}")
    fresh.touch(mode=0o600)
    with fresh.open("w", encoding="ascii") as file:
        file.write(secrets.token_urlsafe(48))
        file.flush()
        os.fsync(file.fileno())
    with suppress(FileExistsError):  # when another process was first, all agree on that one's key
        os.link(fresh, path)
    fresh.unlink()


def _strong(key: str, source: str, remedy: str) -> str:
    """Return a key that can't be guessed, or end the program."""
    stripped = key.strip()
    length, different = len(stripped), len(set(stripped))
    if length < SHORTEST_KEY or different < FEWEST_CHARACTERS:
        needed = f"{SHORTEST_KEY} are needed, {FEWEST_CHARACTERS} of them different"
        _refuse_key(source, f"it has {length} characters, {different} of them different; {needed}", remedy)
    if stripped in (stripped * 2)[1:-1]:
        _refuse_key(source, "it says the same again and again", remedy)
    if stripped.startswith(OF_AN_EXAMPLE):
        _refuse_key(source, f"it begins with {OF_AN_EXAMPLE}, as those of examples do", remedy)
    return key


def _refuse_key(source: str, reason: str, remedy: str) -> NoReturn:
    _refuse(f"{source} can't be used as the secret key: {reason}. {remedy}")


def mail() -> dict[str, object]:
    """Django's mail settings for EMAIL_URL. Without one nothing is sent."""
    try:
        return dict(environ.Env.email_url_config(EMAIL_URL or "dummymail://"))
    except (environ.ImproperlyConfigured, ValueError):
        _refuse(f"EMAIL_URL is no address of a mail server. One is smtp+tls://USER:PASSWORD@HOST:587, {ENCODED}.")


def static_root() -> Path:
    """Folder of collected static files. Made when missing, since WhiteNoise warns about a folder that is not there."""
    path = DATA_DIR / "static"
    with suppress(
        OSError
    ):  # a folder that is not writable is reported by the checks (annotation/core/system_checks.py)
        path.mkdir(parents=True, exist_ok=True)
    return path


def database() -> dict[str, object]:
    """Django's database settings for DATABASE_URL, with what each engine needs to be safe under load."""
    try:
        settings = dict(environ.Env.db_url_config(DATABASE_URL)) if "://" in DATABASE_URL else {}
    except ValueError:
        settings = {}
    engine = str(settings.get("ENGINE"))
    if not engine.endswith(("sqlite3", "postgresql")):
        _refuse(f"DATABASE_URL must be postgres://USER:PASSWORD@HOST/NAME, or sqlite:///PATH, {ENCODED}.")
    if engine.endswith("sqlite3"):
        if settings["NAME"] != ":memory:":
            Path(str(settings["NAME"])).parent.mkdir(parents=True, exist_ok=True)
        # Seconds. A new connection for each request costs a tenth of the request's time; an unlimited one would not
        # read refreshed planner statistics (annotation/core/database/sqlite_statistics.py).
        settings["CONN_MAX_AGE"] = 300
        settings["OPTIONS"] = {
            # A write transaction takes its lock at the start, so that it waits instead of failing half-way.
            "transaction_mode": "IMMEDIATE",
            "timeout": 20,
            # FULL: a commit returns when it is on the disk. With NORMAL a power cut can lose acknowledged votes.
            "init_command": "PRAGMA journal_mode=WAL; PRAGMA synchronous=FULL; PRAGMA foreign_keys=ON; "
            "PRAGMA cache_size=-1000;",  # in KiB, for each thread: the system's page cache serves all,
        }
    else:
        # A thread keeps its connection, and replaces it before a request if the server has closed it.
        settings["CONN_MAX_AGE"] = None
        settings["CONN_HEALTH_CHECKS"] = True
        settings["OPTIONS"] = {
            # Django's default, None, turns off prepared statements even for queries that request them.
            "prepare_threshold": 5 if PREPARE_STATEMENTS else None,
            # Both sides notice within half a minute that the other's machine is gone. By default that takes PostgreSQL two
            # hours, in which an open transaction of a lost worker keeps its locks. Shorter than the lease of a worker.
            "keepalives_idle": 10,
            "keepalives_interval": 5,
            "keepalives_count": 3,
            "tcp_user_timeout": 25_000,
            "options": "-c tcp_keepalives_idle=10 -c tcp_keepalives_interval=5 -c tcp_keepalives_count=3 -c tcp_user_timeout=25000",
            **dict(settings.get("OPTIONS") or {}),
        }
    return settings
