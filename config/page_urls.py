"""The URLs of pages: all but the API's, whose modules and Django REST framework load with the first request to it."""

from django.contrib import admin
from django.urls import include, path
from django.views.decorators.http import require_POST
from django.views.i18n import set_language

from annotation.members.account_views import admin_login
from annotation.urls import urlpatterns as annotation_pages
from reporting.health.metrics import metrics
from reporting.health.status_views import readyz, status
from reporting.health.views import healthz
from reporting.study_pages.urls import urlpatterns as study_pages

handler404 = "annotation.core.request_ids.not_found"
handler500 = "annotation.core.request_ids.failed"

urlpatterns = [
    path("healthz", healthz, name="healthz"),
    path("readyz", readyz, name="readyz"),
    path("metrics", metrics, name="metrics"),
    path("status/", status, name="status"),
    path("", include(([*annotation_pages, *study_pages], "annotation"))),
    path("language/", require_POST(set_language), name="set-language"),
    path("admin/login/", admin_login, name="admin-login"),
    path("admin/", admin.site.urls),
    path("", include("judging.urls")),
    path("", include("reporting.urls")),
]
