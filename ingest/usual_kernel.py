"""Compiled: takes lines of an `events` dump apart into columns, where they leave nothing to judge.

Names no file and touches no database. What it gives of a line is what `ingest.fields` says of it; a
line that is not just as dumps usually write it gives nothing, and is left to who can judge it.
"""

from __future__ import annotations

from typing import Any

import numba as nb
import numpy as np
from numba.core import cgutils
from numba.extending import intrinsic

from ingest import fields

# In the order of the columns that `take_apart` fills. A roll-out (`change`) is never usual.
KINDS = tuple(str(kind) for kind in fields.KINDS if kind != "change")
PHASES = tuple(str(phase) for phase in fields.PHASES)
MODES = fields.CHOICES["mode"]
CACHES = fields.CHOICES["cache"]
OUTCOMES = tuple(str(outcome) for outcome in fields.CHOICES["outcome"])
# What few lines say, in the order of its columns.
TEXTS = tuple(field for field in fields.TEXTS if field not in fields.PLAIN)
NUMBERS = tuple(field for field in fields.WHOLE_NUMBERS if field not in fields.PLAIN)

NEVER = np.iinfo(np.int64).min  # no time was told
ABSENT = -1  # no number, no text, no word of a list

_TS, _END, _EVENT, _JOB, _ATTEMPT, _ID, _PHASE, _STAGE, _RANK, _STEP, _MODE, _OK, _SAMPLES = range(
    len(fields.PLAIN)
)
_FIELDS = (*fields.PLAIN, *TEXTS, *NUMBERS, "cache", "outcome")
assert set(_FIELDS) == set(fields.FIELDS)
_PLAIN, _ALL = len(fields.PLAIN), len(_FIELDS)
_CATEGORY, _CACHE, _OUTCOME = map(_FIELDS.index, ("category", "cache", "outcome"))
_SAYS_MORE = _ALL  # where `told` has whether a line says more than plain fields
MEMBERS = _ALL + 1
_TEXT, _NUMBER, _TRUE, _FALSE, _NULL = 1, 2, 3, 4, 5
_PHASE_START, _PHASE_END = KINDS.index("phase_start"), KINDS.index("phase_end")
_EARLIEST_US = fields.EARLIEST_US
_LONGEST_ID, _LONGEST_TEXT = fields.LONGEST_ID, fields.LONGEST_TEXT
_UNUSUAL = -2
_DIGITS = 18  # of a whole number that surely fits
_LONGEST = np.array([fields.TEXTS[field] for field in TEXTS])
_MOST = np.array([fields.WHOLE_NUMBERS[field][1] or 10**_DIGITS for field in NUMBERS])
assert all(fields.WHOLE_NUMBERS[field][0] in (0, None) for field in NUMBERS)

_compiled = nb.njit(nogil=True, cache=True, error_model="numpy")
_inlined = nb.njit(nogil=True, cache=True, inline="always", error_model="numpy")


def _spelled(words: tuple[str, ...]) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Words as bytes, one after another; where each begins; and which of them, if any, has three
    letters and a length of that sum (`_which`): no two have the same.
    """
    spelled = [word.encode() for word in words]
    which = np.full(_SUMS, -1)
    for number, word in enumerate(spelled):
        place = (word[0] * 2 + word[len(word) // 2] * 4 + word[-1] * 9 + len(word)) % _SUMS
        assert which[place] < 0, f"{words[which[place]]} and {words[number]} have the same sum"
        which[place] = number
    letters = np.frombuffer(b"".join(spelled), dtype=np.uint8)
    return letters.copy(), np.cumsum([0, *map(len, spelled)]), which


_SUMS = 256
_FIELD_LETTERS, _FIELD_STARTS, _FIELD_SUMS = _spelled(_FIELDS)
_KIND_LETTERS, _KIND_STARTS, _KIND_SUMS = _spelled(KINDS)
_PHASE_LETTERS, _PHASE_STARTS, _PHASE_SUMS = _spelled(PHASES)
_MODE_LETTERS, _MODE_STARTS, _MODE_SUMS = _spelled(MODES)
_CACHE_LETTERS, _CACHE_STARTS, _CACHE_SUMS = _spelled(CACHES)
_OUTCOME_LETTERS, _OUTCOME_STARTS, _OUTCOME_SUMS = _spelled(OUTCOMES)


def _lend(_, array):
    def lend(context, builder, signature, values):
        lent = context.make_array(array)(context, builder, values[0])
        lent.meminfo = cgutils.get_null_value(lent.meminfo.type)
        lent.parent = cgutils.get_null_value(lent.parent.type)
        return lent._getvalue()

    return array(array), lend


# The same array, of which nobody counts who holds it: its owner must outlive them all. Else that is
# counted at each call that it is given to, in a place that is locked for it: most of the time.
_lent: Any = intrinsic(_lend)


@_compiled
def take_apart(
    text, start, latest_us, takes_more, begins, ends, told,
    times, numbers, choices, places,
    more_times, more_numbers, more_choices, more_places,
):  # fmt: skip
    """Fill a row for each usual line of `text` from `start` on. The text ends with a line's end.

    `begins`, `ends`, `told`: room for what is told of each field (`MEMBERS`).
    `times`: at, end. `numbers`: attempt, rank, step, samples. `choices`: event, phase, mode, ok.
    `places`: begin and length of job, event_id and stage, then of the lines that are left over
    begin, length and number, from 0. Lines that say more than plain fields go into the arrays for
    `more`, or are left over where nobody `takes_more`: these have NUMBERS behind the numbers, cache
    and outcome behind the choices, and begin and length of TEXTS behind the first three places.
    Returns how many rows of each kind were filled, how many lines are left over, how many there
    were, and where the next one begins: not at the end, where no more fit in.
    """
    text, begins, ends, told = _lent(text), _lent(begins), _lent(ends), _lent(told)
    times, numbers, choices, places = _lent(times), _lent(numbers), _lent(choices), _lent(places)
    more_times, more_numbers = _lent(more_times), _lent(more_numbers)
    more_choices, more_places = _lent(more_choices), _lent(more_places)
    room = times.shape[1]
    rows = more = left = lines = 0
    at = start
    while at < text.size and rows < room and more < room and left < room:
        line = at
        at = _members(text, line, begins, ends, told)
        says_more = told[_SAYS_MORE] != 0
        if says_more:
            row = more
            to_times, to_numbers, to_choices = more_times, more_numbers, more_choices
            to_places = more_places
        else:
            row = rows
            to_times, to_numbers, to_choices, to_places = times, numbers, choices, places
        is_usual = (
            at >= 0
            and (takes_more or not says_more)
            and _row(
                text, latest_us, begins, ends, told,
                to_times, to_numbers, to_choices, to_places, row,
            )
            and (
                not says_more
                or _more(text, begins, ends, told, to_numbers, to_choices, to_places, row)
            )
        )  # fmt: skip
        if not is_usual:
            at = max(at, line)
            while text[at] != 10:
                at += 1
            places[6, left], places[7, left], places[8, left] = line, at + 1 - line, lines
            left += 1
        elif says_more:
            more += 1
        else:
            rows += 1
        at += 1
        lines += 1
    return rows, more, left, lines, at


_ONE = np.uint64(1)  # without a sign there is no end to count from, which each look would ask for
_NOWHERE = np.uint64(0)
_IS_PLAIN = np.array([32 <= letter <= 126 and letter not in b'"\\' for letter in range(256)])
_TRUE_LETTERS, _FALSE_LETTERS, _NULL_LETTERS = (
    np.frombuffer(word, dtype=np.uint8) for word in (b"true", b"false", b"null")
)


@_inlined
def _members(text, begin, begins, ends, told):
    """Find what an object of plain members tells of each field. Returns where it ends; -1: it is no
    such object, or does not end its line.
    """
    for field in range(_ALL + 1):
        told[field] = 0
    at = np.uint64(begin)
    if text[at] != 123:  # {
        return -1
    while True:
        at = _past_blanks(text, at + _ONE)
        if text[at] != 34:  # "
            return -1
        at += _ONE
        first = at
        while _IS_PLAIN[text[at]]:
            at += _ONE
        if text[at] != 34:
            return -1
        field = _which(
            text, np.int64(first), np.int64(at - first), _FIELD_LETTERS, _FIELD_STARTS, _FIELD_SUMS
        )
        if field < 0 or told[field] != 0:
            return -1
        at = _past_blanks(text, at + _ONE)
        if text[at] != 58:  # :
            return -1
        at = _value(text, _past_blanks(text, at + _ONE), field, begins, ends, told)
        if at == _NOWHERE:
            return -1
        if field >= _PLAIN and told[field] != _NULL:
            told[_SAYS_MORE] = 1
        at = _past_blanks(text, at)
        if text[at] == 125:  # }
            at += _ONE
            if text[at] == 13:
                at += _ONE
            return np.int64(at) if text[at] == 10 else -1
        if text[at] != 44:  # ,
            return -1


@_inlined
def _past_blanks(text, at):
    while text[at] == 32:
        at += _ONE
    return at


@_inlined
def _value(text, at, field, begins, ends, told):
    """Note a field's value, and return where it ends. No line's end stands in any."""
    if text[at] == 34:
        at += _ONE
        begins[field] = at
        while _IS_PLAIN[text[at]]:
            at += _ONE
        ends[field] = at
        told[field] = _TEXT
        return at + _ONE if text[at] == 34 else _NOWHERE
    if 48 <= text[at] <= 57:
        begins[field] = at
        while 48 <= text[at] <= 57 or text[at] == 46:
            at += _ONE
        ends[field] = at
        told[field] = _NUMBER
        return at
    if _stands(text, at, _TRUE_LETTERS):
        told[field] = _TRUE
        return at + np.uint64(4)
    if _stands(text, at, _FALSE_LETTERS):
        told[field] = _FALSE
        return at + np.uint64(5)
    if _stands(text, at, _NULL_LETTERS):
        told[field] = _NULL
        return at + np.uint64(4)
    return _NOWHERE


@_inlined
def _stands(text, at, letters):
    same = 0
    while same < letters.size and text[at + np.uint64(same)] == letters[same]:
        same += 1
    return same == letters.size


@_inlined
def _row(text, latest_us, begins, ends, told, times, numbers, choices, places, row):
    """Fill one row from the members of a line. Returns whether all of them were usual."""
    at_us = _time(text, told[_TS], begins[_TS], ends[_TS])
    end_us = _time(text, told[_END], begins[_END], ends[_END])
    kind = _choice(text, _EVENT, begins, ends, told, _KIND_LETTERS, _KIND_STARTS, _KIND_SUMS)
    phase = _choice(text, _PHASE, begins, ends, told, _PHASE_LETTERS, _PHASE_STARTS, _PHASE_SUMS)
    mode = _choice(text, _MODE, begins, ends, told, _MODE_LETTERS, _MODE_STARTS, _MODE_SUMS)
    attempt = _whole(text, told[_ATTEMPT], begins[_ATTEMPT], ends[_ATTEMPT])
    rank = _whole(text, told[_RANK], begins[_RANK], ends[_RANK])
    step = _whole(text, told[_STEP], begins[_STEP], ends[_STEP])
    samples = _whole(text, told[_SAMPLES], begins[_SAMPLES], ends[_SAMPLES])
    if not (
        _EARLIEST_US <= at_us <= latest_us
        and (end_us == NEVER or _EARLIEST_US <= end_us <= latest_us)
        and kind >= 0
        and (phase >= 0 or (phase == ABSENT and kind != _PHASE_START and kind != _PHASE_END))
        and mode != _UNUSUAL
        and attempt != 0
        and attempt != _UNUSUAL
        and rank != _UNUSUAL
        and step != _UNUSUAL
        and samples != _UNUSUAL
        and told[_OK] != _TEXT
        and told[_OK] != _NUMBER
        and told[_JOB] == _TEXT
        and _is_text(_JOB, begins, ends, told, _LONGEST_ID)
        and ends[_JOB] > begins[_JOB]
        and _is_text(_ID, begins, ends, told, _LONGEST_ID)
        and _is_text(_STAGE, begins, ends, told, _LONGEST_TEXT)
    ):
        return False
    times[0, row], times[1, row] = at_us, end_us
    numbers[0, row], numbers[1, row] = attempt, rank
    numbers[2, row], numbers[3, row] = step, samples
    choices[0, row], choices[1, row], choices[2, row] = kind, phase, mode
    choices[3, row] = 1 if told[_OK] == _TRUE else (0 if told[_OK] == _FALSE else ABSENT)
    places[0, row], places[1, row] = begins[_JOB], ends[_JOB] - begins[_JOB]
    has_id, has_stage = told[_ID] == _TEXT, told[_STAGE] == _TEXT
    places[2, row], places[3, row] = begins[_ID], ends[_ID] - begins[_ID] if has_id else ABSENT
    places[4, row] = begins[_STAGE]
    places[5, row] = ends[_STAGE] - begins[_STAGE] if has_stage else ABSENT
    return True


@_inlined
def _more(text, begins, ends, told, numbers, choices, places, row):
    """Fill what a line says beside plain fields. Returns whether all of it was usual."""
    for number in range(_LONGEST.size):
        field = _PLAIN + number
        if not _is_text(field, begins, ends, told, _LONGEST[number]):
            return False
        has_text = told[field] == _TEXT
        places[6 + 2 * number, row] = begins[field]
        places[7 + 2 * number, row] = ends[field] - begins[field] if has_text else ABSENT
    for number in range(_MOST.size):
        field = _PLAIN + _LONGEST.size + number
        count = _whole(text, told[field], begins[field], ends[field])
        if count == _UNUSUAL or count > _MOST[number]:
            return False
        numbers[4 + number, row] = count
    cache = _choice(text, _CACHE, begins, ends, told, _CACHE_LETTERS, _CACHE_STARTS, _CACHE_SUMS)
    outcome = _choice(
        text, _OUTCOME, begins, ends, told, _OUTCOME_LETTERS, _OUTCOME_STARTS, _OUTCOME_SUMS
    )
    choices[4, row], choices[5, row] = cache, outcome
    return (
        cache != _UNUSUAL
        and outcome != _UNUSUAL
        and (told[_CATEGORY] != _TEXT or _is_category(text, begins[_CATEGORY], ends[_CATEGORY]))
    )


@_inlined
def _is_category(text, begin, end):
    """Whether it is two texts with a slash between: `fields.CATEGORY`."""
    slashes = 0
    for at in range(begin, end):
        slashes += text[at] == 47
    return slashes == 1 and text[begin] != 47 and text[end - 1] != 47


@_inlined
def _is_text(field, begins, ends, told, longest):
    """Whether a field is absent, or a text that is not too long."""
    if told[field] == _TEXT:
        return ends[field] - begins[field] <= longest
    return told[field] == 0 or told[field] == _NULL


@_inlined
def _choice(text, field, begins, ends, told, letters, starts, sums):
    if told[field] == _TEXT:
        found = _which(text, begins[field], ends[field] - begins[field], letters, starts, sums)
        return found if found >= 0 else _UNUSUAL
    return ABSENT if told[field] == 0 or told[field] == _NULL else _UNUSUAL


@_inlined
def _which(text, begin, length, letters, starts, sums):
    """Which of some words stands there; -1: none."""
    if length == 0:
        return -1
    first, middle, last = text[begin], text[begin + length // 2], text[begin + length - 1]
    word = sums[(first * 2 + middle * 4 + last * 9 + length) % _SUMS]
    if word < 0 or starts[word + 1] - starts[word] != length:
        return -1
    for place in range(length):
        if text[begin + place] != letters[starts[word] + place]:
            return -1
    return word


@_inlined
def _whole(text, told, begin, end):
    """A whole number as JSON writes it, without sign, point or exponent."""
    if told != _NUMBER:
        return ABSENT if told == 0 or told == _NULL else _UNUSUAL
    if end - begin > _DIGITS or (text[begin] == 48 and end - begin > 1):
        return _UNUSUAL
    number = 0
    for at in range(begin, end):
        if text[at] == 46:
            return _UNUSUAL
        number = number * 10 + (text[at] - 48)
    return number


@_inlined
def _time(text, told, begin, end):
    """Microseconds since 1970. What cannot be read lies before any time that is believed."""
    if told == _TEXT:
        return _instant(text, begin, end)
    if told == _NUMBER:
        return _seconds(text, begin, end)
    return NEVER if told == 0 or told == _NULL else 0


@_compiled
def _seconds(text, begin, end):
    """Unix seconds with at most six decimals, as JSON writes them."""
    if end - begin > _DIGITS or text[end - 1] == 46 or text[begin] == 48:
        return 0
    number = 0
    decimals = -1
    for at in range(begin, end):
        if text[at] == 46:
            if decimals >= 0:
                return 0
            decimals = 0
        else:
            number = number * 10 + (text[at] - 48)
            if decimals >= 0:
                decimals += 1
    if decimals > 6 or end - begin - max(decimals, 0) > 11:
        return 0
    for _ in range(max(decimals, 0), 6):
        number *= 10
    return number


@_inlined
def _two(text, at):
    """A number of two digits; 100: it is none."""
    tens, ones = text[at] - 48, text[at + 1] - 48
    return tens * 10 + ones if 0 <= tens <= 9 and 0 <= ones <= 9 else 100


@_compiled
def _instant(text, begin, end):
    """RFC 3339 in its usual letters: 2026-03-01T00:00:00[.123456]Z, or +01:00 for Z."""
    if (
        end - begin < 20
        or text[begin + 4] != 45
        or text[begin + 7] != 45
        or text[begin + 10] != 84
        or text[begin + 13] != 58
        or text[begin + 16] != 58
    ):
        return 0
    century, year = _two(text, begin), _two(text, begin + 2)
    month, day = _two(text, begin + 5), _two(text, begin + 8)
    hour, minute, second = _two(text, begin + 11), _two(text, begin + 14), _two(text, begin + 17)
    year += century * 100
    if year < 2000 or year > 9999 or hour > 23 or minute > 59 or second > 59:
        return 0
    if month < 1 or month > 12 or day < 1 or day > _days_of(year, month):
        return 0
    at = begin + 19
    fraction = 0
    if text[at] == 46:
        at += 1
        first = at
        while at < end and at - first < 6 and 48 <= text[at] <= 57:
            fraction = fraction * 10 + (text[at] - 48)
            at += 1
        if at == first:
            return 0
        for _ in range(at - first, 6):
            fraction *= 10
    offset = 0
    if text[at] == 90:  # Z
        at += 1
    elif (text[at] == 43 or text[at] == 45) and end - at == 6 and text[at + 3] == 58:
        hours, minutes = _two(text, at + 1), _two(text, at + 4)
        if hours > 15 or minutes > 59:
            return 0
        offset = hours * 60 + minutes
        if text[at] == 45:
            offset = -offset
        at += 6
    else:
        return 0
    if at != end:
        return 0
    seconds = (_days_since_1970(year, month, day) * 24 + hour) * 60 + minute - offset
    return (seconds * 60 + second) * 1_000_000 + fraction


@_inlined
def _days_of(year, month):
    if month == 2:
        return 29 if year % 4 == 0 and (year % 100 != 0 or year % 400 == 0) else 28
    return 30 if month == 4 or month == 6 or month == 9 or month == 11 else 31


@_inlined
def _days_since_1970(year, month, day):
    """Counted in years that begin in March, so that a leap day is the last one."""
    if month <= 2:
        year -= 1
        month += 12
    of_year = (153 * (month - 3) + 2) // 5 + day - 1
    return year * 365 + year // 4 - year // 100 + year // 400 + of_year - 719_468


@_compiled
def present(values, absent, bits):
    """Mark in `bits` which values are not absent, as Arrow does. Returns how many are."""
    found = 0
    for at in range(bits.size):
        bits[at] = 0
    for at in range(values.size):
        if values[at] != absent:
            bits[at >> 3] |= np.uint8(1 << (at & 7))
            found += 1
    return found


@_compiled
def number_texts(text, begins, lengths, slots, firsts, numbers):
    """Number the different texts in the order in which they come; `firsts` are their rows.

    `slots`: room to look them up, a power of two larger than there are texts. Returns how many.
    """
    mask = np.uint64(slots.size - 1)
    slots[:] = -1
    found = 0
    for row in range(lengths.size):
        begin, length = begins[row], lengths[row]
        if length < 0:
            numbers[row] = ABSENT
            continue
        mixed = np.uint64(14695981039346656037)
        for at in range(begin, begin + length):
            mixed = (mixed ^ np.uint64(text[at])) * np.uint64(1099511628211)
        slot = (mixed ^ (mixed >> np.uint64(32))) & mask
        while True:
            known = slots[slot]
            if known < 0:
                slots[slot], firsts[found], numbers[row] = found, row, found
                found += 1
                break
            other = firsts[known]
            if lengths[other] == length:
                same = 0
                while same < length and text[begins[other] + same] == text[begin + same]:
                    same += 1
                if same == length:
                    numbers[row] = known
                    break
            slot = (slot + _ONE) & mask
    return found


@_compiled
def gather(text, begins, lengths, offsets, letters):
    """Copy texts behind one another; `offsets` are where each begins, and where the last one ends.

    A length below 0 is one of 0.
    """
    at = 0
    for row in range(lengths.size):
        offsets[row] = at
        begin = begins[row]
        for place in range(max(lengths[row], 0)):
            letters[at + place] = text[begin + place]
        at += max(lengths[row], 0)
    offsets[lengths.size] = at
