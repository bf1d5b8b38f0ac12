"""Addresses of the ablation's pages."""

from django.urls import path, re_path

from reporting.ablation import views

urlpatterns = [
    path("studies/<slug:slug>/ablation/", views.show, name="ablation"),
    path("studies/<slug:slug>/ablation/start/", views.start, name="start-ablation"),
    re_path(r"^studies/(?P<slug>[-\w]+)/ablation\.(?P<form>json|csv)$", views.download, name="ablation-file"),
    re_path(
        r"^studies/(?P<slug>[-\w]+)/ablation/(?P<name>samples|calls)\.(?P<form>svg|png)$",
        views.chart,
        name="ablation-chart",
    ),
]
