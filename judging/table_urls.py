"""Addresses of the pages about comparison tables, below one study's."""

from django.urls import path

from judging.views import tables

urlpatterns = [
    path("", tables.tables, name="tables"),
    path("tables.jsonl", tables.tables_file, name="tables-file"),
    path("<int:pk>/", tables.table, name="table"),
]
