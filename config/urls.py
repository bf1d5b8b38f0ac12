"""All addresses: each app brings its own."""

from django.urls import URLResolver, include, path
from django.urls.resolvers import RoutePattern
from django.views.decorators.http import require_POST
from django.views.i18n import set_language

from reporting.views.health import healthz


def when_asked_for(prefix: str, urlconf: str, namespace: str) -> URLResolver:
    """Include addresses as `include` does, but load them when the first person or program asks for one of them.

    Raters never do: their pages start sooner, and take less memory, without the researchers'.
    """
    return URLResolver(RoutePattern(prefix), urlconf, app_name=namespace, namespace=namespace)


urlpatterns = [
    path("healthz", healthz, name="healthz"),
    path("", include("annotation.urls")),
    path("language/", require_POST(set_language), name="set-language"),
    when_asked_for("", "judging.urls", "judging"),
    when_asked_for("", "reporting.urls", "reporting"),
    when_asked_for("api/v1/", "reporting.api.urls", "api"),
    when_asked_for("admin/", "config.admin_urls", "admin"),
]
