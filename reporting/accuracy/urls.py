"""Addresses of judges against gold labels."""

from django.urls import path, re_path

from reporting.accuracy import views

urlpatterns = [
    path("studies/<slug:slug>/accuracy/", views.show, name="judge-accuracy"),
    re_path(r"^studies/(?P<slug>[-\w]+)/accuracy\.(?P<form>json|csv|tex)$", views.download, name="judge-accuracy-file"),
    path("studies/<slug:slug>/accuracy-wordings.csv", views.download_wordings, name="judge-accuracy-wordings"),
]
