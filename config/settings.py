"""Django settings. What an installation may change is read in `config.env`; everything else is decided here."""

from csp.constants import NONE, SELF

from config import env

BASE_DIR = env.BASE_DIR
DATA_DIR = env.DATA_DIR
SECRET_KEY = env.secret_key()
DEBUG = env.DEBUG
ALLOWED_HOSTS = env.ALLOWED_HOSTS
CSRF_TRUSTED_ORIGINS = env.CSRF_TRUSTED_ORIGINS

INSTALLED_APPS = [
    "django.contrib.admin.apps.SimpleAdminConfig",  # its tables are registered in config/admin_urls.py
    "django.contrib.auth",
    "django.contrib.contenttypes",
    "django.contrib.sessions",
    "django.contrib.messages",
    "whitenoise.runserver_nostatic",
    "django.contrib.staticfiles",
    "axes",
    "csp",
    "django_filters",
    "django_htmx",
    "django_tasks",
    "django_tasks_db",
    "drf_spectacular",
    "rest_framework",
    "rest_framework.authtoken",
    "template_partials.apps.SimpleAppConfig",
    "annotation",
    "judging",
    "reporting",
]

MIDDLEWARE = [
    "django.middleware.security.SecurityMiddleware",
    "config.static_files.CompressingWhiteNoise",
    # Compression can give a secret away by the length of a page that repeats what its address holds (BREACH). Django
    # guards against it twice: CSRF tokens are masked anew in each response, and this middleware pads it at random.
    "django.middleware.gzip.GZipMiddleware",
    "csp.middleware.CSPMiddleware",
    "django.contrib.sessions.middleware.SessionMiddleware",
    "annotation.language.LanguageMiddleware",
    "annotation.middleware.CharsetMiddleware",  # before anything reads a form
    "django.middleware.common.CommonMiddleware",
    "django.middleware.csrf.CsrfViewMiddleware",
    "django.contrib.auth.middleware.AuthenticationMiddleware",
    "django.contrib.messages.middleware.MessageMiddleware",
    "django.middleware.clickjacking.XFrameOptionsMiddleware",
    "django_htmx.middleware.HtmxMiddleware",
    "annotation.middleware.SignedOutMiddleware",
    "annotation.middleware.DomainErrorMiddleware",
    "annotation.middleware.PrivatePagesMiddleware",
    "axes.middleware.AxesMiddleware",
]

ROOT_URLCONF = "config.urls"
WSGI_APPLICATION = "config.wsgi.application"

TEMPLATES = [
    {
        "BACKEND": "django.template.backends.django.DjangoTemplates",
        "DIRS": [BASE_DIR / "templates"],
        "OPTIONS": {
            "loaders": [
                (
                    "template_partials.loader.Loader",
                    [
                        (
                            "config.folding.Loader",
                            [f"django.template.loaders.{kind}.Loader" for kind in ("filesystem", "app_directories")],
                        )
                    ],
                )
            ],
            "context_processors": [
                "django.template.context_processors.request",
                "django.contrib.auth.context_processors.auth",
                "django.contrib.messages.context_processors.messages",
                "annotation.context_processors.roles",
            ],
        },
    },
]

DATABASES = {"default": env.database()}
DEFAULT_AUTO_FIELD = "django.db.models.BigAutoField"

AUTHENTICATION_BACKENDS = [
    "axes.backends.AxesStandaloneBackend",
    "django.contrib.auth.backends.ModelBackend",
    "sesame.backends.ModelBackend",
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
AXES_CLIENT_IP_CALLABLE = "annotation.access.client_ip"
AXES_RESET_COOL_OFF_ON_FAILURE_DURING_LOCKOUT = False
AXES_DISABLE_ACCESS_LOG = True  # of sign-ins that succeed: it would hold addresses of people and tokens of their links
AXES_SENSITIVE_PARAMETERS = ["password", "sesame"]
# A login link works once (signing in moves last_login, which the token signs) and for a day.
SESAME_ONE_TIME = True
SESAME_MAX_AGE = 24 * 60 * 60

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
# Found through the app folders, so that a clone serves its files without a collect step.
WHITENOISE_USE_FINDERS = True
WHITENOISE_AUTOREFRESH = DEBUG
# A file of another project carries its version in its name: what a browser has of it is good for ever.
WHITENOISE_IMMUTABLE_FILE_TEST = r"/vendor/[\w.-]+-\d+\.\d+\.\d+(\.min)?\.(css|js)$"

SESSION_COOKIE_HTTPONLY = True
SESSION_COOKIE_SAMESITE = "Lax"
SESSION_COOKIE_SECURE = CSRF_COOKIE_SECURE = LANGUAGE_COOKIE_SECURE = SECURE_SSL_REDIRECT = env.HTTPS_ONLY
SECURE_HSTS_SECONDS = 31_536_000 if env.HTTPS_ONLY else 0
# Behind a TLS proxy the proxy's word on the client's address counts; without one, anybody could claim any address.
BEHIND_PROXY = env.HTTPS_ONLY
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

REST_FRAMEWORK = {
    "DEFAULT_AUTHENTICATION_CLASSES": [
        "rest_framework.authentication.TokenAuthentication",
        "rest_framework.authentication.SessionAuthentication",
    ],
    "DEFAULT_RENDERER_CLASSES": ["rest_framework.renderers.JSONRenderer"],
    "DEFAULT_SCHEMA_CLASS": "drf_spectacular.openapi.AutoSchema",
    "DEFAULT_PAGINATION_CLASS": "rest_framework.pagination.PageNumberPagination",
    "DEFAULT_FILTER_BACKENDS": ["django_filters.rest_framework.DjangoFilterBackend"],
    "EXCEPTION_HANDLER": "annotation.api.errors.exception_handler",
    "PAGE_SIZE": 100,
}
SPECTACULAR_SETTINGS = {
    "TITLE": "Tandem",
    "DESCRIPTION": "Studies, batches, ratings, judgments and findings: to be read, and set up by study admins.",
    "VERSION": "1",
    "SERVE_INCLUDE_SCHEMA": False,
}

# What is kept here is small and may be lost: platforms' public keys, and who was asked about a moment ago.
CACHES = {
    "default": {"BACKEND": "django.core.cache.backends.locmem.LocMemCache", "OPTIONS": {"MAX_ENTRIES": 20_000}},
}

# The queue is the database's own: it works on both engines and needs no further service.
TASKS = {"default": {"BACKEND": "django_tasks_db.DatabaseBackend", "QUEUES": ["default"]}}

# Hosts on loopback or private networks that a judge endpoint may point at; everything else private is refused.
ENDPOINT_ALLOWLIST = env.ENDPOINT_ALLOWLIST
# Folder whose *.txt are offered to every group as wordings for judges; empty for none.
PROMPT_FOLDER = env.PROMPT_FOLDER
# Folder of folders with language models for separability; and whether others may be fetched from the hub.
MODEL_FOLDER = env.MODEL_FOLDER
MODEL_DOWNLOADS = env.MODEL_DOWNLOADS
# host:port of stand-ins for Prolific and MTurk, which get the platforms' tokens; without one only the platforms do.
PLATFORM_ALLOWLIST = env.PLATFORM_ALLOWLIST
# The largest bonus that any channel may pay at once, in the study's currency there; a channel's own cap may be lower.
BONUS_CEILING = env.BONUS_CEILING
# Looks up an endpoint's key by the name of its environment variable, at the moment of a call.
ENDPOINT_KEY = env.secret
# Where people reach this server: what sign-in links made by a command begin with.
BASE_URL = env.BASE_URL
UPLOAD_MAX_BYTES = 16 * 1024 * 1024
DATA_UPLOAD_MAX_MEMORY_SIZE = 2 * 1024 * 1024

LOGGING = {
    "version": 1,
    "disable_existing_loggers": False,
    "formatters": {"line": {"format": "{asctime} {levelname} {name}: {message}", "style": "{"}},
    "filters": {"tokens": {"()": "config.log_filters.MaskTokens"}},
    "handlers": {"console": {"class": "logging.StreamHandler", "formatter": "line", "filters": ["tokens"]}},
    "root": {"handlers": ["console"], "level": env.LOG_LEVEL},
    "loggers": {
        "axes": {"level": "WARNING"},
        "httpx": {"level": "WARNING"},
        "httpx2": {"level": "WARNING"},
        # Django's own handlers would write the same lines once more, with every token in them.
        "django": {"level": "INFO", "handlers": []},
        "django.server": {"level": "INFO", "handlers": ["console"], "propagate": False},
    },
}
