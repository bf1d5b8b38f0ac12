"""Charts of findings as SVG and PNG files."""

from django.http import Http404, HttpRequest, HttpResponse
from django.views.decorators.http import require_safe

from annotation.members.permissions import READERS, study_view
from annotation.models import Study
from annotation.studies.configurations import configuration
from reporting.core import charts
from reporting.core.pictures import chart_response, theme_of
from reporting.findings.query import filters_of
from reporting.findings.study_findings import findings_on, pooled_under

POOLED = "pooled-consistency"
OF_CONFIGURATION = {
    "consistency-by-bin": charts.consistency_by_bin,
    "mean-consistency": charts.mean_consistency,
    "separability": charts.separability_histogram,
}


@require_safe
@study_view(*READERS)
def chart(request: HttpRequest, study: Study, *, name: str, form: str) -> HttpResponse:
    """Return one chart; `dataset`, `a` and `b` name the configuration, `theme` is light or dark."""
    theme = theme_of(request)
    if name not in {POOLED, *OF_CONFIGURATION}:
        raise Http404(f"no picture {name}")
    filters = filters_of(study, request.GET)
    if name == POOLED:
        spec = charts.pooled_consistency(pooled_under(study, filters), theme)
    else:
        asked = {key: request.GET.get(key, "") for key in ("dataset", "a", "b")}
        about = configuration(study, dataset=asked["dataset"], systems=(asked["a"], asked["b"]))
        spec = OF_CONFIGURATION[name](findings_on(about, filters), theme)
    return chart_response(spec, form)
