"""All addresses: each app brings its own."""

from django.contrib import admin
from django.urls import include, path

urlpatterns = [
    path("", include("annotation.urls")),
    path("", include("judging.urls")),
    path("", include("reporting.urls")),
    path("api/v1/", include("reporting.api.urls")),
    path("admin/", admin.site.urls),
]
