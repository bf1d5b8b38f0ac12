import numpy as np

from reporting.findings.measures.rater_findings import uninformative


def test_an_instance_tells_nothing_if_none_of_its_rating_sets_does() -> None:
    consistency, instance = np.array([0.0, 0.0, 0.0, 0.2, 1.0]), np.array([7, 7, 3, 3, 9])
    assert uninformative(consistency, instance) == {"count": 1, "instances": 3}
    assert uninformative(consistency[:0], instance[:0]) == {"count": 0, "instances": 0}
