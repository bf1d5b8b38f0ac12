"""The planner in the API: how many instances, pairs and raters an interval of some width takes."""

from typing import Any

from drf_spectacular.types import OpenApiTypes
from drf_spectacular.utils import OpenApiParameter, extend_schema
from rest_framework.decorators import action
from rest_framework.request import Request
from rest_framework.response import Response
from rest_framework.viewsets import GenericViewSet

from annotation.api.study_serializers import refusals
from annotation.core.actions import checked
from annotation.models import Study
from annotation.planning.forms import PlanForm
from annotation.planning.plans import plan

OF_CONFIGURATION = ("dataset", "systems")  # together the form's `configuration`
PARAMETERS = [
    OpenApiParameter(name, str, many=name == "batches", description=str(field.label or ""))
    for name, field in PlanForm.base_fields.items()
    if name != "configuration"
] + [
    OpenApiParameter("dataset", str, description="Of one configuration. Default: the first."),
    OpenApiParameter("systems", str, many=True, description="Its two systems."),
]


class StudyPlans(GenericViewSet[Any]):
    """Plan a study; for researchers too."""

    @extend_schema(parameters=PARAMETERS, responses={200: OpenApiTypes.OBJECT, **refusals(409, 422)}, filters=False)
    @action(detail=True, pagination_class=None, filter_backends=[], parameters=PARAMETERS)
    def plan(self, request: Request, slug: str) -> Response:
        """Return designs with what each takes, as `manage.py plan --format json` prints them."""
        study: Study = self.get_object()
        query = request.query_params.copy()
        axes = query.pop("dataset", []), query.pop("systems", [])
        form = PlanForm(query, study=study)
        if any(axes):
            query["configuration"] = _key(form, *axes)
        checked(form)
        return Response(plan(study, form.spec))


def _key(form: PlanForm, datasets: list[str], systems: list[str]) -> str:
    """Return the key of the configuration that fits, one that is none otherwise."""
    for key, configuration in form.known.items():
        names = {configuration.system_a.name, configuration.system_b.name}
        if set(datasets) <= {configuration.dataset} and set(systems) <= names:
            return key
    return " ".join([*datasets, *systems])
