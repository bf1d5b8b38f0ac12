"""Addresses of the pages."""

from django.urls import URLPattern

app_name = "annotation"
urlpatterns: list[URLPattern] = []
