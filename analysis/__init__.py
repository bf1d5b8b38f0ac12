"""Measures as pure functions: arrays in, arrays or frozen dataclasses out.

Each room holds the measures of one subject. The modules beside them hold types, errors and groups of rows for all rooms.
"""
