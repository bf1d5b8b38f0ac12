"""Measures as pure functions: arrays in, arrays or frozen dataclasses out."""
