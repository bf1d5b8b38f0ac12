"""The one place that reads the environment: every setting that an installation may change, with its default."""

import os
import secrets
from contextlib import suppress
from pathlib import Path

import environ

BASE_DIR = Path(__file__).resolve().parent.parent

env = environ.Env()
environ.Env.read_env(BASE_DIR / ".env")

DATA_DIR = Path(env.str("TANDEM_DATA_DIR", default="") or BASE_DIR / "var")
# Its files hold sessions and tokens: nobody else on the machine is to read them. A folder that is there stays as it is.
DATA_DIR.mkdir(mode=0o700, parents=True, exist_ok=True)
DEBUG = env.bool("DEBUG", default=False)
ALLOWED_HOSTS = env.list("ALLOWED_HOSTS", default=["localhost", "127.0.0.1", "[::1]"])
CSRF_TRUSTED_ORIGINS = env.list("CSRF_TRUSTED_ORIGINS", default=[])
HTTPS_ONLY = env.bool("HTTPS_ONLY", default=False)
DATABASE_URL = env.str("DATABASE_URL", default="") or f"sqlite:///{DATA_DIR / 'tandem.sqlite3'}"
PREPARE_STATEMENTS = env.bool("PREPARE_STATEMENTS", default=True)
ENDPOINT_ALLOWLIST = env.list("ENDPOINT_ALLOWLIST", default=[])
PROMPT_FOLDER = env.str("PROMPT_FOLDER", default="")
MODEL_FOLDER = Path(env.str("MODEL_FOLDER", default="") or DATA_DIR / "models")
MODEL_DOWNLOADS = env.bool("MODEL_DOWNLOADS", default=False)
PLATFORM_ALLOWLIST = env.list("PLATFORM_ALLOWLIST", default=[])
BONUS_CEILING = env.int("BONUS_CEILING", default=100)
BASE_URL = env.str("BASE_URL", default=f"http://localhost:{env.str('PORT', default='8000')}")
LOG_LEVEL = env.str("LOG_LEVEL", default="INFO")


def secret(name: str) -> str | None:
    """Value of an environment variable that holds a key; `None` when it is not set. Never stored, never logged."""
    return env.str(name, default="") or None


def secret_key() -> str:
    """Django's signing key: from SECRET_KEY, else from a file that is made once with a random key."""
    if given := secret("SECRET_KEY"):
        return given
    path = DATA_DIR / "secret_key"
    if not path.exists():
        fresh = path.with_name(f"{path.name}.{os.getpid()}")
        fresh.touch(mode=0o600)
        fresh.write_text(secrets.token_urlsafe(48), encoding="ascii")
        with suppress(FileExistsError):  # when another process was first, all agree on that one's key
            os.link(fresh, path)
        fresh.unlink()
    return path.read_text(encoding="ascii")


def static_root() -> Path:
    """Folder of collected static files; made when missing, since WhiteNoise warns about a folder that is not there."""
    path = DATA_DIR / "static"
    path.mkdir(parents=True, exist_ok=True)
    return path


def database() -> dict[str, object]:
    """Django's database settings for DATABASE_URL, with what each engine needs to be safe under load."""
    settings = dict(environ.Env.db_url_config(DATABASE_URL))
    engine = str(settings["ENGINE"])
    if engine.endswith("sqlite3"):
        if settings["NAME"] != ":memory:":
            Path(str(settings["NAME"])).parent.mkdir(parents=True, exist_ok=True)
        # Seconds. Opening the file and its settings anew for each request costs a tenth of it; one that is kept for ever
        # would not hear of tables that have grown (annotation/sqlite_statistics.py).
        settings["CONN_MAX_AGE"] = 300
        settings["OPTIONS"] = {
            # A write transaction takes its lock at the start, so that it waits instead of failing half-way.
            "transaction_mode": "IMMEDIATE",
            "timeout": 20,
            "init_command": "PRAGMA journal_mode=WAL; PRAGMA synchronous=NORMAL; PRAGMA foreign_keys=ON; "
            "PRAGMA cache_size=-1000;",  # in KiB, for each thread: the system keeps the file in memory once for all,
        }
    elif engine.endswith("postgresql"):
        settings["OPTIONS"] = {
            "pool": {"min_size": 1, "max_size": 10, "timeout": 20},
            # Not None, which is Django's own choice: then nothing is prepared, whoever asks for it.
            "prepare_threshold": 5 if PREPARE_STATEMENTS else None,
            **dict(settings.get("OPTIONS") or {}),
        }
    return settings
