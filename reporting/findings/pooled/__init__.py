"""All configurations together: verdicts with codes over the study, separability on one scale, numbers by its bins.

May use measures and data.
"""
