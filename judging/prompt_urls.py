"""Addresses of the pages about wordings, below one study's."""

from django.urls import path

from judging.views import prompt_files

urlpatterns = [
    path("", prompt_files.prompts, name="prompts"),
    path("<int:prompt_id>/", prompt_files.prompt, name="prompt"),
]
