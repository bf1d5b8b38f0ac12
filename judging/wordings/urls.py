"""URLs of the prompts' pages, below a study's."""

from django.urls import path

from judging.wordings import views

urlpatterns = [
    path("", views.prompts, name="prompts"),
    path("<int:prompt_id>/", views.prompt, name="prompt"),
]
