"""Whole-process measurements against named yardsticks of the same run. Never part of the tests."""
