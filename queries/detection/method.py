"""The constants of the method (docs/detection.md says where each comes from).

Thresholds are not here: they are measured, by `make calibrate`, into thresholds.csv.
"""

from __future__ import annotations

WEEK = 7
LAG_DAYS = 21  # the newest days are judged, so they are not part of what they are judged by
BASELINE_DAYS = 175
LEAST_BASELINE_DAYS = 42
LEAST_BASELINE_VALUES = 21
LEAST_BASELINE_OBSERVATIONS = 40
TRAIL_DAYS = 21

# A long weak change and a short strong one: k and the cut of z of each sum.
SLOW_K, SLOW_CUT = 0.35, 2.0
FAST_K, FAST_CUT = 1.5, 4.0
LOWER_CUT = -3.0

WINSOR = 2.0
CLIP = 2.5
CLIPPED_VARIANCE = 0.955  # of a standard normal cut at CLIP
WEEKDAY_SHRINKAGE = 4.0  # in days
LEAST_SPREAD = 0.02  # a steadier series is not judged more finely: 2 %
PRIOR_JOB_VARIANCE, PRIOR_JOB_COUNT = 0.25, 5.0
PRIOR_SCALE_DAYS = 20.0
PRIOR_CORRELATION, PRIOR_CORRELATION_DAYS = 0.12, 120.0
MOST_CORRELATION = 0.7
CORRELATION_STRETCH = 2.4
# a short baseline is itself uncertain: as if a run of so many days shared one more error
YOUTH_STRETCH = 9.0
# a rate that is rare by chance must not be judged as one that is
CAUTIOUS_EVENTS = 3.0

# Stages, sums and outcomes have causes that are watched too: alone they need more to be told.
DERIVED_MARGIN = 1.15

LEAST_AFTER_OBSERVATIONS = 10
LEAST_AFTER_EVENTS = 5
LEAST_CHANGED_DAYS = 3
CHANGED = 1.0  # in spreads
LEAST_INCIDENT_DAYS = 2
LEAST_MIX_CHANGE = 0.1

RECOVERY_EVIDENCE = 8.0
LEAST_RECOVERED_DAYS = 3
INCIDENT_DAYS = 5
SILENT_DAYS = 21
NEW_LEVEL_DAYS = 90
