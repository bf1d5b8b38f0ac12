"""Addresses of downloads in long form."""

from django.urls import re_path

from reporting.exports import views
from reporting.exports.files import FORMATS, KINDS

urlpatterns = [
    re_path(
        rf"^studies/(?P<slug>[-\w]+)/export/(?P<kind>{'|'.join(KINDS)})\.(?P<form>{'|'.join(FORMATS)})$",
        views.download,
        name="export",
    ),
]
