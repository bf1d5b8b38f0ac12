"""All addresses: each app brings its own."""

from django.contrib import admin
from django.urls import include, path
from django.views.decorators.http import require_POST
from django.views.i18n import set_language

urlpatterns = [
    path("", include("annotation.urls")),
    path("", include("judging.urls")),
    path("", include("reporting.urls")),
    path("api/v1/", include("reporting.api.urls")),
    path("language/", require_POST(set_language), name="set-language"),
    path("admin/", admin.site.urls),
]
