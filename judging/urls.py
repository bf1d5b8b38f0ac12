"""Addresses of the pages."""

from django.urls import include, path

from judging.views import comparisons, endpoints, judges, judgments, make_tables, marks, runs, tables

app_name = "judging"
urlpatterns = [
    path("endpoints/", endpoints.endpoints, name="endpoints"),
    path("endpoints/new/", endpoints.new_endpoint, name="new-endpoint"),
    path("endpoints/<slug:endpoint_name>/", endpoints.endpoint, name="endpoint"),
    path("endpoints/<slug:endpoint_name>/test/", endpoints.test_endpoint, name="test-endpoint"),
    path("studies/<slug:slug>/prompts/", include("judging.prompt_urls")),
    path("studies/<slug:slug>/aspects/", include("judging.aspect_urls")),
    path("studies/<slug:slug>/generate/", include("judging.generate_urls")),
    path("studies/<slug:slug>/judges/", judges.judges, name="judges"),
    path("studies/<slug:slug>/judges/new/", judges.new_judge, name="new-judge"),
    path("studies/<slug:slug>/judges/estimate/", judges.estimate, name="estimate"),
    path("studies/<slug:slug>/judges/compare/", comparisons.comparison, name="compare"),
    path("studies/<slug:slug>/judges/runs/", judges.start, name="start"),
    path("studies/<slug:slug>/judges/runs/<int:run_id>/", runs.run, name="run"),
    path("studies/<slug:slug>/judges/runs/<int:run_id>/steer/", runs.steer, name="steer"),
    path("studies/<slug:slug>/judges/runs/<int:run_id>/judgments/", runs.run_judgments, name="judgments"),
    path("studies/<slug:slug>/judgments/<int:judgment_id>/", judgments.judgment, name="judgment"),
    path("studies/<slug:slug>/judgments/<int:judgment_id>/mark/", marks.mark, name="mark"),
    path("studies/<slug:slug>/judgments/<int:judgment_id>/table/", tables.judgment_table, name="judgment-table"),
    path("studies/<slug:slug>/tables/make/", make_tables.make, name="make-tables"),
    path("studies/<slug:slug>/tables/make/start/", make_tables.start, name="start-tables"),
    path("studies/<slug:slug>/tables/", include("judging.table_urls")),
]
