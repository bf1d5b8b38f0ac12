"""Many raters on several server processes at once, while servers are killed and claims run out.

    make stress

The small version is a test like any other (tests/annotation/allocation/test_stress.py).
"""
