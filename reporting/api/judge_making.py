"""Juries, tunings, the group's own prompts, and single judgments with marks on their rationales in the API."""

from typing import Any

from django.db.models import QuerySet
from django.http import Http404
from django.utils import timezone
from rest_framework import serializers, status
from rest_framework.request import Request
from rest_framework.response import Response
from rest_framework.viewsets import GenericViewSet

from annotation.api.answers import MESSAGE, WithMessage, answers, made, work
from annotation.api.bodies import body_of, read_form, schema_of, user_of
from annotation.models import Study
from judging.core.fields import ResumeForm
from judging.core.visibility import judges_seen_by, prompt_files_seen_by
from judging.jobs.bounds import resume_job
from judging.models import JudgeTuning, Judgment, PromptFile
from judging.review.forms import MarkForm
from judging.review.marks import mark_rationale, remove_mark
from judging.review.replaying import replay
from judging.runs.forms import JuryForm
from judging.runs.juries import add_jury
from judging.tuning.forms import TuningForm
from judging.tuning.services import cost_of_tuning
from judging.wordings.forms import PairForm, PromptForm
from judging.wordings.prompt_files import add_prompt
from judging.wordings.views import sent_messages
from reporting.api.material import ResumeSerializer
from reporting.api.rows import MODEL, Rows
from reporting.api.run_setup import read_asking
from reporting.api.serializers import JudgeRunSerializer

JurySerializer = schema_of(JuryForm, "Jury", "A jury of judges that have run on the study.")
NewPromptSerializer = schema_of(
    PromptForm,
    "NewPrompt",
    "A prompt of the group's own. An existing name gets its next version.",
    exclude=["file"],
)
CheckPromptSerializer = type(
    "CheckPromptSerializer",
    (NewPromptSerializer, schema_of(PairForm, "PairOf", "A pair.")),
    {"__doc__": "A prompt to check, and the pair of the preview. Default: the first pair."},
)
NewTuningSerializer = schema_of(TuningForm, "NewTuning", "A judge to tune, candidates and budget.")


class TuningSerializer(WithMessage, serializers.ModelSerializer[JudgeTuning]):
    """A tuning: settings, candidates, and the comparison on held-out instances (`found`)."""

    study = serializers.CharField(source="study.slug", read_only=True)
    judge = serializers.CharField(source="judge.name", read_only=True)
    question = serializers.SerializerMethodField(help_text="Its key.")
    status = serializers.CharField(read_only=True, help_text="queued, running, stopped or done.")
    settings = serializers.JSONField(read_only=True)
    found = serializers.JSONField(read_only=True)
    tuned = serializers.CharField(source="tuned.name", read_only=True, default=None, allow_null=True)
    presentations = serializers.IntegerField(source="plan.presentations", read_only=True)
    cost = serializers.SerializerMethodField(help_text="Known so far.")

    class Meta:
        model = JudgeTuning
        fields = [
            *("name", "study", "judge", "question", "settings", "status", *MESSAGE, "presentations", "cost"),
            *("max_cost", "in_flight", "found", "tuned", "created_at", "ended_at"),
        ]

    def get_question(self, tuning: JudgeTuning) -> str:
        """Return the question's key."""
        return tuning.study.questions[tuning.question].key

    def get_cost(self, tuning: JudgeTuning) -> float | None:
        """Return the cost, None while it is unknown."""
        cost = cost_of_tuning(tuning)
        return None if cost is None else float(cost)


class PromptSerializer(serializers.ModelSerializer[PromptFile]):
    """One version of a prompt. `group` is null for prompts of all groups."""

    group = serializers.CharField(source="group.slug", read_only=True, default=None, allow_null=True)

    class Meta:
        model = PromptFile
        fields = ["id", "group", "name", "version", "text", "system_prompt", "form", "parser", "created_at"]


class PromptRows(Rows):
    """Prompts of the user's groups and of all groups."""

    queryset = PromptFile.objects.select_related("group")
    serializer_class = PromptSerializer

    def get_queryset(self) -> QuerySet[PromptFile]:
        """Return the wordings that this user may read."""
        return prompt_files_seen_by(self.request.user).select_related("group").order_by("pk")


class StudyJudges(GenericViewSet[Any]):
    """Juries, tunings and prompts of a study; for researchers too."""

    @work(JudgeRunSerializer, 201, body=JurySerializer, methods=["post"])
    def juries(self, request: Request, slug: str) -> Response:
        """Add a jury, and the run that stands for its verdicts on the study. The same again changes nothing."""
        study: Study = self.get_object()
        form = read_form(JuryForm, body_of(request), study=study, judges=judges_seen_by(request.user))
        run = add_jury(study=study, **form.cleaned_data)
        return made(JudgeRunSerializer(run).data, "judgerun-detail", run.pk)

    @work(TuningSerializer(many=True))
    def tunings(self, request: Request, slug: str) -> Response:
        """List the tunings of a study, the latest first."""
        return Response(TuningSerializer(_tunings(self.get_object()), many=True).data)

    @answers(TuningSerializer, 202, body=NewTuningSerializer)
    @tunings.mapping.post
    def start_tuning(self, request: Request, slug: str) -> Response:
        """Queue a tuning. The same settings again continue it."""
        study: Study = self.get_object()
        return _told(study, read_asking(TuningForm, request, study).queue()[0].name)

    @work(body=NewTuningSerializer, methods=["post"], path="tunings/estimate")
    def estimate_tuning(self, request: Request, slug: str) -> Response:
        """Plan a tuning and estimate what it takes. No call is made and nothing is stored."""
        return Response(read_asking(TuningForm, request, self.get_object()).estimate().as_dict())

    @work(TuningSerializer, 202, body=ResumeSerializer, methods=["post"], path=rf"tunings/(?P<name>{MODEL})/resume")
    def resume_tuning(self, request: Request, slug: str, name: str) -> Response:
        """Queue a tuning that stopped, within another cap."""
        study: Study = self.get_object()
        tuning = _tunings(study).filter(name=name).first()
        if tuning is None:
            raise Http404(f"no tuning {name}")
        resume_job(tuning, **read_form(ResumeForm, body_of(request)).cleaned_data)
        return _told(study, name)

    @work(PromptSerializer, 200, 201, body=NewPromptSerializer, methods=["post"])
    def prompts(self, request: Request, slug: str) -> Response:
        """Add a wording for the study's group. The same text again changes nothing (200)."""
        study: Study = self.get_object()
        form = read_form(PromptForm, body_of(request), exclude=["file"])
        named = {name: form.cleaned_data[name] for name in ("name", "parser")}
        prompt, is_new = add_prompt(prompt=form.given, group=study.group, **named)
        code = status.HTTP_201_CREATED if is_new else status.HTTP_200_OK
        return Response(PromptSerializer(prompt).data, status=code)

    @work(body=CheckPromptSerializer, methods=["post"], path="prompts/check")
    def check_prompt(self, request: Request, slug: str) -> Response:
        """Check a wording, and return the messages that a judge would send of a pair. Nothing is stored."""
        study: Study = self.get_object()
        body = body_of(request)
        of_pair = {name: body.pop(name) for name in PairForm.base_fields if name in body}
        form = read_form(PromptForm, body, exclude=["file"])
        pair = read_form(PairForm, of_pair, study=study)
        return Response({"messages": sent_messages(form.given, form.cleaned_data["parser"], pair)})


def _tunings(study: Study) -> QuerySet[JudgeTuning]:
    return study.judge_tunings.select_related("study", "judge__endpoint", "tuned")


def _told(study: Study, name: str) -> Response:
    return Response(TuningSerializer(_tunings(study).get(name=name)).data, status=status.HTTP_202_ACCEPTED)


class JudgmentReview(GenericViewSet[Any]):
    """A judgment's steps, and researchers' marks of it."""

    @work(refused=(409,))
    def replay(self, request: Request, pk: str) -> Response:
        """Return each answer behind a judgment, with the messages of its call and its present reading."""
        judgment: Judgment = self.get_object()
        steps = [
            {
                "completion": step.completion.cache_key,
                "messages": step.completion.request.get("messages", []),
                "settings": step.settings,
                "text": step.completion.text,
                "status": step.status,
                "value": step.value,
                "attempt": step.attempt,
                "before": step.before,
            }
            for step in replay(judgment).steps
        ]
        return Response({"steps": steps})

    @work(None, 204, body=schema_of(MarkForm, "Mark"), methods=["post"])
    def mark(self, request: Request, pk: str) -> Response:
        """Store the user's mark on a rationale, in place of an earlier one."""
        judgment: Judgment = self.get_object()
        mark = read_form(MarkForm, body_of(request)).cleaned_data
        mark_rationale(judgment=judgment, marker=user_of(request), at=timezone.now(), **mark)
        return Response(status=status.HTTP_204_NO_CONTENT)

    @answers(None, 204)
    @mark.mapping.delete
    def remove_mark(self, request: Request, pk: str) -> Response:
        """Take the user's mark back."""
        judgment: Judgment = self.get_object()
        remove_mark(judgment=judgment, marker=user_of(request))
        return Response(status=status.HTTP_204_NO_CONTENT)
