"""Many raters on several server processes at once, while servers are killed and leases expire.

    make stress

tests/annotation/allocation/test_stress.py is a small version in the suite.
"""
