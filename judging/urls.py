"""Addresses of the pages, room by room."""

from django.urls import include, path

from judging.aspects import views as aspects
from judging.generation import views as generation
from judging.review import views as review
from judging.tables import views as tables
from judging.tuning import views as tuning
from judging.wordings import views as wordings

app_name = "judging"
of_a_study = [
    path("judges/compare/", review.comparison, name="compare"),
    path("judgments/<int:judgment_id>/", review.judgment, name="judgment"),
    path("judgments/<int:judgment_id>/mark/", review.mark, name="mark"),
    path("judgments/<int:judgment_id>/table/", tables.judgment_table, name="judgment-table"),
    path("tables/make/", tables.make, name="make-tables"),
    path("tables/make/start/", tables.start, name="start-tables"),
    path("tables/", tables.tables, name="tables"),
    path("tables/tables.jsonl", tables.tables_file, name="tables-file"),
    path("tables/<int:pk>/", tables.table, name="table"),
    path("prompts/", wordings.prompts, name="prompts"),
    path("prompts/<int:prompt_id>/", wordings.prompt, name="prompt"),
    path("aspects/", aspects.aspects, name="aspects"),
    path("aspects/edit/", aspects.edit, name="edit-aspects"),
    path("aspects/estimate/", aspects.estimate, name="estimate-aspects"),
    path("aspects/distil/", aspects.distil, name="distil-aspects"),
    path("judges/tuning/", tuning.tunings, name="tunings"),
    path("judges/tuning/estimate/", tuning.estimate, name="estimate-tuning"),
    path("judges/tuning/start/", tuning.start, name="start-tuning"),
    path("generate/", generation.generate, name="generate"),
    path("generate/estimate/", generation.estimate, name="estimate-generating"),
    path("generate/start/", generation.start, name="start-generating"),
    path("generate/systems.json", generation.systems_file, name="sampled-systems"),
]
urlpatterns = [
    *(path("", include(f"judging.{room}.urls")) for room in ("endpoints", "runs")),
    path("studies/<slug:slug>/", include(of_a_study)),
]
