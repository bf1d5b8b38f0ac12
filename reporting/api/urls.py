"""URLs of the API."""

from django.urls import path
from rest_framework.routers import DefaultRouter

from reporting.api import views
from reporting.api.corrections import AccountViewSet
from reporting.api.docs_views import docs
from reporting.api.judge_making import PromptRows
from reporting.api.run_setup import AuditViewSet

app_name = "api"
router = DefaultRouter()
router.include_format_suffixes = False
router.register("studies", views.StudyViewSet)
router.register("accounts", AccountViewSet, basename="account")
router.register("groups", views.GroupViewSet, basename="group")
router.register("systems", views.SystemViewSet)
router.register("instances", views.InstanceViewSet)
router.register("generations", views.GenerationViewSet)
router.register("matchups", views.MatchupViewSet)
router.register("separability-runs", views.SeparabilityRunViewSet)
router.register("alignments", views.AlignmentViewSet)
router.register("pairs", views.PairViewSet)
router.register("batches", views.BatchViewSet)
router.register("hits", views.HitViewSet)
router.register("assignments", views.AssignmentViewSet)
router.register("ratings", views.RatingViewSet)
router.register("history", views.HistoryViewSet)
router.register("flags", views.FlagViewSet)
router.register("annotators", views.AnnotatorViewSet)
router.register("channels", views.ChannelViewSet)
router.register("tables", views.ComparisonTableViewSet)
router.register("judges", views.JudgeViewSet)
router.register("prompts", PromptRows, basename="prompt")
router.register("endpoints", views.EndpointViewSet)
router.register("runs", views.JudgeRunViewSet)
router.register("audits", AuditViewSet)
router.register("judgments", views.JudgmentViewSet)
router.register("completions", views.CompletionViewSet)

urlpatterns = [
    path("docs/", docs, name="docs"),
    path("schema/", views.SchemaView.as_view(), name="schema"),
    *router.urls,
]
