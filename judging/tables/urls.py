"""URLs of the comparison tables' pages, below a study's."""

from django.urls import path

from judging.tables import views

urlpatterns = [
    path("studies/<slug:slug>/judgments/<int:judgment_id>/table/", views.judgment_table, name="judgment-table"),
    path("studies/<slug:slug>/tables/make/", views.make, name="make-tables"),
    path("studies/<slug:slug>/tables/make/start/", views.start, name="start-tables"),
    path("studies/<slug:slug>/tables/", views.tables, name="tables"),
    path("studies/<slug:slug>/tables/tables.jsonl", views.tables_file, name="tables-file"),
    path("studies/<slug:slug>/tables/<int:pk>/", views.table, name="table"),
]
