"""Addresses of the pages."""

from django.urls import URLPattern

app_name = "reporting"
urlpatterns: list[URLPattern] = []
