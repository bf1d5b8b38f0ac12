"""All addresses: each app brings its own."""

from django.urls import include, path
from django.views.decorators.http import require_POST
from django.views.i18n import set_language

from annotation.lazy_urls import lazy_include
from reporting.views.health import healthz

urlpatterns = [
    path("healthz", healthz, name="healthz"),
    path("", include("annotation.urls")),
    path("language/", require_POST(set_language), name="set-language"),
    lazy_include("api/v1/", "reporting.api.urls", "api"),
    lazy_include("admin/", "config.admin_urls", "admin"),
    lazy_include("", "judging.urls", "judging"),
    lazy_include("", "reporting.urls", "reporting"),
]
