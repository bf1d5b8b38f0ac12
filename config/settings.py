"""Django settings. What an installation may change is read in `config.env`. Everything else is decided here."""

from csp.constants import NONE, SELF

from config import env

BASE_DIR = env.BASE_DIR
DATA_DIR = env.DATA_DIR
SECRET_KEY = env.secret_key()
PRODUCTION = env.PRODUCTION
DEBUG = env.DEBUG
ALLOWED_HOSTS = env.ALLOWED_HOSTS
CSRF_TRUSTED_ORIGINS = env.CSRF_TRUSTED_ORIGINS

INSTALLED_APPS = [
    "django.contrib.admin",
    "django.contrib.auth",
    "django.contrib.contenttypes",
    "django.contrib.sessions",
    "django.contrib.messages",
    "whitenoise.runserver_nostatic",
    "django.contrib.staticfiles",
    "axes",
    "csp",
    "django_otp.plugins.otp_static",
    "django_otp.plugins.otp_totp",
    "django_tasks",
    "django_tasks_db",
    "drf_spectacular",
    "template_partials",
    "annotation",
    "judging",
    "reporting",
]

MIDDLEWARE = [
    "reporting.health.requests.RequestMiddleware",
    "annotation.core.middleware.PageMiddleware",
    "django.middleware.security.SecurityMiddleware",
    "whitenoise.middleware.WhiteNoiseMiddleware",
    # Compression can leak a secret by the length of a page that reflects its query (BREACH). Django guards against it
    # twice: CSRF tokens are masked differently in each response, and this middleware adds random padding.
    "annotation.core.middleware.HeadMiddleware",
    "django.middleware.gzip.GZipMiddleware",
    "csp.middleware.CSPMiddleware",
    "annotation.core.middleware.PermissionsPolicyMiddleware",
    "annotation.core.middleware.SessionCookieMiddleware",
    "django.contrib.sessions.middleware.SessionMiddleware",
    "annotation.core.middleware.LanguageMiddleware",
    "annotation.core.middleware.CharsetMiddleware",  # before anything reads a form
    "annotation.members.signed_in.BodySizeMiddleware",
    "django.middleware.common.CommonMiddleware",
    "django.middleware.csrf.CsrfViewMiddleware",
    "django.contrib.auth.middleware.AuthenticationMiddleware",
    "annotation.members.signed_in.AuditMiddleware",
    "annotation.members.signed_in.SecondFactorMiddleware",
    "django.contrib.messages.middleware.MessageMiddleware",
    "django.middleware.clickjacking.XFrameOptionsMiddleware",
    "annotation.core.middleware.FormAddressMiddleware",
    "annotation.core.middleware.SignedOutMiddleware",
    "annotation.core.middleware.ErrorMiddleware",
    "annotation.core.middleware.PrivatePagesMiddleware",
    "axes.middleware.AxesMiddleware",
]

ROOT_URLCONF = "config.urls"
PAGE_URLCONF = "config.page_urls"
WSGI_APPLICATION = "config.wsgi.application"

TEMPLATES = [
    {
        "BACKEND": "django.template.backends.django.DjangoTemplates",
        "DIRS": [BASE_DIR / "templates"],
        "APP_DIRS": True,
        "OPTIONS": {
            "context_processors": [
                "django.template.context_processors.request",
                "django.contrib.auth.context_processors.auth",
                "django.contrib.messages.context_processors.messages",
            ],
        },
    },
]

DATABASES = {"default": env.database()}
DEFAULT_AUTO_FIELD = "django.db.models.BigAutoField"

AUTHENTICATION_BACKENDS = [
    "axes.backends.AxesStandaloneBackend",
    "annotation.members.signed_in.AccountBackend",
]
AUTH_PASSWORD_VALIDATORS = [
    {"NAME": f"django.contrib.auth.password_validation.{name}"}
    for name in ("UserAttributeSimilarityValidator", "MinimumLengthValidator", "CommonPasswordValidator")
]
PASSWORD_HASHERS = [
    "django.contrib.auth.hashers.Argon2PasswordHasher",
    "django.contrib.auth.hashers.PBKDF2PasswordHasher",
]
LOGIN_URL = "annotation:login"
LOGIN_REDIRECT_URL = "annotation:home"
LOGOUT_REDIRECT_URL = "annotation:login"
AXES_FAILURE_LIMIT = 10
AXES_COOLOFF_TIME = 1  # hours
AXES_LOCKOUT_PARAMETERS = [["username", "ip_address"]]
AXES_CLIENT_IP_CALLABLE = "annotation.core.http.pseudonym_of"
AXES_HANDLER = "annotation.members.sign_in_limit.SignInLimit"
AXES_LOCKOUT_CALLABLE = "annotation.members.sign_in_limit.lockout_response"
AXES_RESET_COOL_OFF_ON_FAILURE_DURING_LOCKOUT = False
AXES_DISABLE_ACCESS_LOG = True  # of sign-ins that succeed: it would hold addresses of people and tokens of their links
AXES_CLIENT_STR_CALLABLE = "config.log_filters.unnamed_client"
AXES_SENSITIVE_PARAMETERS = ["password", "sesame", "address", "csrfmiddlewaretoken"]
# Wrong passwords within the hour from one address, under any names: thirty people in one room may mistype thrice each.
SIGN_IN_FAILURES_PER_ADDRESS = 100
# Wrong passwords within the hour for one name, from any addresses. Links still sign the person in.
SIGN_IN_FAILURES_PER_NAME = 30
# A login link works once (signing in moves last_login, which the token signs) and for a day.
SESAME_ONE_TIME = True
SESAME_MAX_AGE = 24 * 60 * 60
# Whether admins and researchers must have a second factor; anyone of them may.
SECOND_FACTOR_REQUIRED = env.SECOND_FACTOR_REQUIRED
OTP_TOTP_ISSUER = "Tandem"

LANGUAGE_CODE = "en"
# docs/howto/translate.md tells how to add one.
LANGUAGES = [("en", "English"), ("de", "German")]
LOCALE_PATHS = [BASE_DIR / "locale"]
FORMAT_MODULE_PATH = ["config.formats"]
LANGUAGE_COOKIE_AGE = 365 * 24 * 60 * 60  # a year: without an age the choice would be gone when the browser closes
LANGUAGE_COOKIE_HTTPONLY = True
LANGUAGE_COOKIE_SAMESITE = "Lax"
TIME_ZONE = "UTC"
USE_TZ = True

STATIC_URL = "static/"
STATIC_ROOT = env.static_root()
STATICFILES_DIRS = [BASE_DIR / "static"]
# `serve` and `demo` collect them; with DEBUG they are found in their folders.
STORAGES = {
    "default": {"BACKEND": "django.core.files.storage.FileSystemStorage"},
    "staticfiles": {"BACKEND": "config.static_files.HashedStorage"},
}
WHITENOISE_ALLOW_ALL_ORIGINS = False  # no other site needs these files
WHITENOISE_KEEP_ONLY_HASHED_FILES = True

SESSION_ENGINE = "annotation.members.signed_in"
SESSION_COOKIE_HTTPONLY = True
SESSION_COOKIE_SAMESITE = "Lax"
SESSION_COOKIE_SECURE = CSRF_COOKIE_SECURE = LANGUAGE_COOKIE_SECURE = SECURE_SSL_REDIRECT = env.HTTPS_ONLY
# Monitors on this machine ask without TLS.
SECURE_REDIRECT_EXEMPT = [r"^healthz$", r"^readyz$", r"^metrics$"]
SECURE_HSTS_SECONDS = 31_536_000 if env.HTTPS_ONLY else 0
# Other servers under the same domain may have no TLS: that is for their owners to say.
SILENCED_SYSTEM_CHECKS = ["security.W005", "security.W021"]
# Whether to believe X-Forwarded-For, which a proxy sets: without a proxy a client could claim any address with it.
BEHIND_PROXY = env.BEHIND_PROXY
SECURE_PROXY_SSL_HEADER = ("HTTP_X_FORWARDED_PROTO", "https") if env.HTTPS_ONLY else None
SECURE_REFERRER_POLICY = "same-origin"
X_FRAME_OPTIONS = "DENY"
CONTENT_SECURITY_POLICY = {
    "DIRECTIVES": {
        "default-src": [SELF],
        "img-src": [SELF, "data:"],
        "object-src": [NONE],
        "base-uri": [NONE],
        "form-action": [SELF],
        "frame-ancestors": [NONE],
    }
}

_UNUSED = (
    *("accelerometer", "browsing-topics", "camera", "display-capture", "geolocation", "gyroscope", "hid"),
    *("magnetometer", "microphone", "midi", "payment", "screen-wake-lock", "serial", "usb", "xr-spatial-tracking"),
)
PERMISSIONS_POLICY = ", ".join(f"{name}=()" for name in _UNUSED)

REST_FRAMEWORK = {
    "DEFAULT_AUTHENTICATION_CLASSES": [
        "reporting.api.authentication.TokenAuthentication",
        "rest_framework.authentication.SessionAuthentication",
    ],
    "DEFAULT_RENDERER_CLASSES": ["rest_framework.renderers.JSONRenderer"],
    "DEFAULT_CONTENT_NEGOTIATION_CLASS": "annotation.api.pages.FirstRenderer",
    "DEFAULT_SCHEMA_CLASS": "reporting.api.sent_once.Schema",
    "DEFAULT_PAGINATION_CLASS": "annotation.api.pages.KeyPagination",
    "DEFAULT_FILTER_BACKENDS": ["django_filters.rest_framework.DjangoFilterBackend"],
    "EXCEPTION_HANDLER": "annotation.api.answers.exception_handler",
}
SPECTACULAR_SETTINGS = {
    "TITLE": "Tandem",
    "DESCRIPTION": "Studies, batches, ratings, judgments and findings: to be read, and set up by study admins.",
    "VERSION": "1",
    "SERVE_INCLUDE_SCHEMA": False,
    "ENUM_NAME_OVERRIDES": {  # of fields whose name another one shares, and of those that are in several places
        "BatchStatusEnum": "annotation.models.Batch.Status",
        "BatchPurposeEnum": "annotation.models.Batch.Purpose",
        "FileKindEnum": "reporting.models.MadeFile.Kind",
        "OrderPolicyEnum": "judging.models.Judge.OrderPolicy",
        "TaskKindEnum": "annotation.models.studies.TaskKind",
    },
}

# Small entries that may be lost: platforms' public keys, and recent look-ups of participants.
CACHES = {
    "default": {"BACKEND": "django.core.cache.backends.locmem.LocMemCache", "OPTIONS": {"MAX_ENTRIES": 20_000}},
}

# Mails: by the server of EMAIL_URL (EMAIL_HOST and so on), for invitations and new passwords.
vars().update(env.mail())
MAIL_ON = bool(env.EMAIL_URL)
EMAIL_TIMEOUT = 30  # seconds
DEFAULT_FROM_EMAIL = env.MAIL_FROM or "tandem@localhost"
# Hours after which it is an alarm that there is no new backup; 0: never.
BACKUP_HOURS = env.BACKUP_HOURS
PASSWORD_RESET_TIMEOUT = 60 * 60  # seconds

# Erasures of raters, for backups that are older: not in the database, since a restored one must lose them again.
ERASURE_LOG = env.ERASURE_LOG

# Redis delivers tasks where this is its address; the database has them in any case.
TASKS_URL = env.TASKS_URL
TASKS, RQ_QUEUES = env.tasks()

# Hosts on loopback or private networks that a judge endpoint may point at; everything else private is refused.
ENDPOINT_ALLOWLIST = env.ENDPOINT_ALLOWLIST
# HTTP proxy for the others, and hosts or domains that need none.
ENDPOINT_PROXY = env.ENDPOINT_PROXY
NO_PROXY = env.NO_PROXY
# Folder whose *.txt are offered to every group as wordings for judges; empty for none.
PROMPT_FOLDER = env.PROMPT_FOLDER
# Folder of folders with language models for separability; and whether others may be fetched from the hub.
MODEL_FOLDER = env.MODEL_FOLDER
MODEL_DOWNLOADS = env.MODEL_DOWNLOADS
# host:port of stand-ins for Prolific and MTurk, which get the platforms' tokens; without one only the platforms do.
PLATFORM_ALLOWLIST = env.PLATFORM_ALLOWLIST
# The largest bonus that any channel may pay at once, in the study's currency there; a channel's own cap may be lower.
BONUS_CEILING = env.BONUS_CEILING
# Pay for an hour below which the pages warn, by currency.
LEAST_HOURLY_PAY = env.LEAST_HOURLY_PAY
# Looks up an endpoint's key by the name of its environment variable, at the moment of a call.
ENDPOINT_KEY = env.secret
# Environment in which a command starts, or becomes, another Python program.
PROGRAM_ENVIRONMENT = env.for_programs
PACKAGES_DIR = env.PACKAGES_DIR
COMMAND = env.COMMAND
# Where `serve` and `demo` listen.
PORT = env.PORT
LISTEN_HOST = env.LISTEN_HOST
# Where people reach this server: what sign-in links made by a command begin with.
BASE_URL = env.BASE_URL
# With less free space than this on the disk of its data, /healthz reports an error.
LEAST_FREE_BYTES = 64 * 1024 * 1024
# Statements that take longer are logged, without their values; 0 logs none.
SLOW_QUERY_SECONDS = env.SLOW_QUERY_SECONDS
# /metrics answers requests with this token; without one, requests from this machine.
METRICS_TOKEN = env.METRICS_TOKEN
# Where the web server's processes keep their counters; `serve` makes it.
METRICS_DIR, KEEP_COUNTERS_IN = env.metrics_dir, env.keep_counters_in
# Of what is sent at once, which the worker holds in memory, beside judges' runs: a gigabyte at most. Commands take more
# (annotation/core/files/file_bounds.py). The proxies in deploy/ let as much through.
UPLOAD_MAX_BYTES = 128 * 1024 * 1024
UPLOAD_MAX_ROWS = 250_000
# Until a request has arrived; the folder for temporary files is in memory on many systems.
FILE_UPLOAD_TEMP_DIR = DATA_DIR
DATA_UPLOAD_MAX_MEMORY_SIZE = 2 * 1024 * 1024

LOGGING = {
    "version": 1,
    "disable_existing_loggers": False,
    "formatters": {
        "line": {"format": "{asctime} {levelname} {name} [{request_id}]: {message}", "style": "{"},
        "json": {"()": "config.log_filters.JsonLines"},
    },
    "filters": {
        "tokens": {"()": "config.log_filters.MaskTokens"},
        "request_id": {"()": "config.log_filters.AddRequestId"},
        "one_line": {"()": "config.log_filters.OneLine"},
    },
    "handlers": {
        "console": {"class": "logging.StreamHandler", "formatter": env.LOG_FORMAT, "filters": ["tokens", "request_id"]}
    },
    "root": {"handlers": ["console"], "level": env.LOG_LEVEL},
    "loggers": {
        "axes": {"level": "WARNING"},
        "tandem.requests": {"level": "INFO" if env.LOG_FORMAT == "json" else "WARNING"},
        "httpx": {"level": "WARNING"},
        "httpx2": {"level": "WARNING"},
        # Django's own handlers would write the same lines once more, with every token in them.
        "django": {"level": "INFO", "handlers": []},
        # Any client can cause this error with a wrong Host header.
        "django.security.DisallowedHost": {"filters": ["one_line"]},
        "django.server": {"level": "INFO", "handlers": ["console"], "propagate": False},
        # It names the address that a broken request came from; its own handler knows no filter.
        "gunicorn.error": {"level": "WARNING", "handlers": ["console"], "propagate": False},
    },
}
