-- Three lines of each reason for which lines were set aside. Such lines may be long and many: only
-- those that are shown are read.
-- grain: one row per file_no, line_number
-- stored: no
with

chosen as (

    select
        reason,
        unnest(
            min({ 'file': file, 'file_no': file_no, 'line_number': line_number }, 3)
        ) as place
    from rejected_lines
    group by reason

)

select
    rejected.file_no,
    rejected.reason,
    rejected.file,
    rejected.line_number,
    rejected.detail,
    rejected.line
from chosen
inner join rejected_lines as rejected
    on
        chosen.place.file_no = rejected.file_no
        and chosen.place.line_number = rejected.line_number
