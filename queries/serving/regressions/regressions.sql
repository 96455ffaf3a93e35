-- What got worse: open, closed, gone by itself, or held back and by which gate.
-- docs/detection.md says what each column means; lost GPU-seconds are those over what was expected.
-- grain: one row per team, metric, started_on
select
    found.team,
    found.metric,
    found.started_on,
    -- what it is
    found.state,
    found.severity,
    found.held_back_by,
    found.verdict,
    found.phase,
    found.stage,
    found.failure_domain,
    -- how much
    found.observed,
    found.expected,
    found.change_ratio,
    found.lost_gpu_seconds_per_day,  -- null: what it costs is unknown
    found.is_gpu_weighed,  -- false: no GPUs are known, so a rate is of attempt-days
    found.attempts_before,
    found.attempts_after,
    found.evidence_ratio,
    -- what the series would have shown before, within 14 days in four cases of five
    case when not isnan(found.smallest_change_ratio) then found.smallest_change_ratio end
        as smallest_change_ratio,
    -- when
    found.detected_on,
    found.ended_on,
    found.closed_on,
    found.closed_because,
    found.days_to_detect,
    found.sla_days,
    found.is_within_sla,
    found.was_open,
    found.before_from,
    found.after_to,
    -- in words
    sentences.sentence
from found_regressions as found
left join found_sentences as sentences
    on
        found.team = sentences.team
        and found.metric = sentences.metric
        and found.started_on = sentences.started_on
order by found.started_on asc, found.team asc, found.metric asc
