"""All URLs."""

from django.urls import include, path

from config.page_urls import handler404, handler500
from config.page_urls import urlpatterns as pages

__all__ = ["handler404", "handler500", "urlpatterns"]
urlpatterns = [path("api/v1/", include("reporting.api.urls")), *pages]
