"""Addresses of the pages that show batches and annotators at work."""

from django.urls import path

from annotation.monitoring import annotator_views, batch_views, reports

urlpatterns = [
    path("studies/<slug:slug>/batches/<int:pk>/", batch_views.batch_page, name="batch"),
    path("studies/<slug:slug>/batches/<int:pk>/live/", batch_views.batch_live, name="batch-live"),
    path("studies/<slug:slug>/batches/<int:pk>/figures/", batch_views.batch_figures, name="batch-figures"),
    path("studies/<slug:slug>/batches/<int:pk>/message/", batch_views.batch_message, name="batch-message"),
    path("studies/<slug:slug>/batches/<int:pk>/idle/", batch_views.batch_idle, name="batch-idle"),
    path("studies/<slug:slug>/raters/<int:pk>/", annotator_views.rater, name="rater"),
    path("studies/<slug:slug>/payments.csv", annotator_views.payments, name="payments"),
    path("studies/<slug:slug>/reports/", reports.reports, name="reports"),
]
