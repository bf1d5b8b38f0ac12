"""All addresses: each app brings its own."""

from django.contrib import admin
from django.urls import URLResolver, include, path
from django.urls.resolvers import RoutePattern
from django.views.decorators.http import require_POST
from django.views.i18n import set_language

# Unlike `include`, this loads the API when the first program asks for it: raters' pages start sooner without.
API = URLResolver(RoutePattern("api/v1/"), "reporting.api.urls", app_name="api", namespace="api")

urlpatterns = [
    path("", include("annotation.urls")),
    path("", include("judging.urls")),
    path("", include("reporting.urls")),
    API,
    path("language/", require_POST(set_language), name="set-language"),
    path("admin/", admin.site.urls),
]
