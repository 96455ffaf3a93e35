"""Change detection: pure functions from series of days to regressions and quiet series.

Knows no warehouse, no page and no clock: what it finds is a function of the frame it is given.
"""
