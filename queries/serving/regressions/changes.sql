-- What was rolled out, as the dumps tell: to draw on charts. A null team means the whole fleet.
-- grain: one row per changed_at, name, team
select distinct
    make_timestamp(events.at_us) as changed_at,
    pieces.day,
    coalesce(events.name, '(none)') as name,
    -- as of attempts
    case
        when replace(events.team, ' (team)', '') in ('fleet', 'other')
            then concat(events.team, ' (team)')
        else events.team
    end as team,
    events.description
from warehouse.told_events as events
left join calendar_pieces as pieces
    on
        pieces.utc_day = events.at_us // 86400000000
        and events.at_us >= pieces.from_us
        and events.at_us < pieces.to_us
where events.event = 'change'
order by changed_at asc, name asc, team asc
