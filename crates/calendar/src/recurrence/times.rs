//! Sets of times within a day, an hour or a minute.

use super::{Frequency, Recurrence};

/// A set of seconds, counted from the start of the day (or hour, or minute) it is for.
#[derive(Clone, Debug)]
pub(super) enum Times {
    /// Every combination of hours, minutes and seconds. Bit 0 is 0.
    Product { hours: u32, minutes: u64, seconds: u64 },
    /// In order, without repetitions.
    List(Vec<u32>),
}

const EVERY_HOUR: u32 = (1 << 24) - 1;
const EVERY_SIXTIETH: u64 = (1 << 60) - 1;

impl Times {
    /// The times of a day by `BYHOUR`, `BYMINUTE` and `BYSECOND`; missing ones are taken from `DTSTART`.
    pub(super) fn of_day(rule: &Recurrence) -> Times {
        let start = rule.anchor();
        Times::Product {
            hours: bits(&rule.by.hour).unwrap_or(1 << start.hour()) as u32,
            minutes: bits(&rule.by.minute).unwrap_or(1 << start.minute()),
            seconds: bits(&rule.by.second).unwrap_or(1 << start.second()),
        }
    }

    /// The times within one period of a rule in hours, minutes or seconds.
    pub(super) fn of_sub_daily_period(rule: &Recurrence) -> Times {
        let Times::Product { minutes, seconds, .. } = Times::of_day(rule) else {
            return Times::List(Vec::new());
        };
        let (minutes, seconds) = match rule.frequency {
            Frequency::Secondly => (1, 1),
            Frequency::Minutely => (1, seconds),
            Frequency::Hourly
            | Frequency::Daily
            | Frequency::Weekly
            | Frequency::Monthly
            | Frequency::Yearly => (minutes, seconds),
        };
        Times::Product { hours: 1, minutes, seconds }.at_positions(&rule.by.set_pos)
    }

    /// The times of day at which such a period may begin, by the parts for its unit and longer ones.
    pub(super) fn of_sub_daily_starts(rule: &Recurrence) -> Times {
        let hours = bits(&rule.by.hour).map_or(EVERY_HOUR, |set| set as u32);
        let minutes = bits(&rule.by.minute).unwrap_or(EVERY_SIXTIETH);
        let seconds = bits(&rule.by.second).unwrap_or(EVERY_SIXTIETH);
        let (minutes, seconds) = match rule.frequency {
            Frequency::Secondly => (minutes, seconds),
            Frequency::Minutely => (minutes, 1),
            Frequency::Hourly
            | Frequency::Daily
            | Frequency::Weekly
            | Frequency::Monthly
            | Frequency::Yearly => (1, 1),
        };
        Times::Product { hours, minutes, seconds }
    }

    /// The times selected by `BYSETPOS`; all, if it is empty.
    pub(super) fn at_positions(self, positions: &[i16]) -> Times {
        if positions.is_empty() {
            return self;
        }
        let places = positions.iter().filter_map(|p| place(*p, self.len()));
        let mut list: Vec<u32> = places.filter_map(|place| self.nth(place)).collect();
        list.sort_unstable();
        list.dedup();
        Times::List(list)
    }

    pub(super) fn at_or_after(&self, second: u32) -> Option<u32> {
        match self {
            Times::Product { hours, minutes, seconds } => {
                let (h, m, s) = (second / 3600, second / 60 % 60, second % 60);
                let (first_m, first_s) = (next_bit(*minutes, 0)?, next_bit(*seconds, 0)?);
                if hours & 1 << h != 0 {
                    if minutes & 1 << m != 0
                        && let Some(s) = next_bit(*seconds, s)
                    {
                        return Some(h * 3600 + m * 60 + s);
                    }
                    if let Some(m) = next_bit(*minutes, m + 1) {
                        return Some(h * 3600 + m * 60 + first_s);
                    }
                }
                let h = next_bit(u64::from(*hours), h + 1)?;
                Some(h * 3600 + first_m * 60 + first_s)
            }
            Times::List(list) => list.get(list.partition_point(|t| *t < second)).copied(),
        }
    }

    pub(super) fn len(&self) -> u32 {
        match self {
            Times::Product { hours, minutes, seconds } => {
                hours.count_ones() * minutes.count_ones() * seconds.count_ones()
            }
            Times::List(list) => list.len() as u32,
        }
    }

    pub(super) fn count_before(&self, second: u32) -> u32 {
        match self {
            Times::Product { hours, minutes, seconds } => {
                let (h, m, s) = (second / 3600, second / 60 % 60, second % 60);
                let (hours_before, this_hour) = split_at_bit(u64::from(*hours), h);
                let (minutes_before, this_minute) = split_at_bit(*minutes, m);
                let (seconds_before, _) = split_at_bit(*seconds, s);
                let in_minute = seconds.count_ones();
                let in_hour = minutes.count_ones() * in_minute;
                let of_this_hour = minutes_before * in_minute + this_minute * seconds_before;
                hours_before * in_hour + this_hour * of_this_hour
            }
            Times::List(list) => list.partition_point(|t| *t < second) as u32,
        }
    }

    /// `place` counts from 0.
    pub(super) fn nth(&self, place: u32) -> Option<u32> {
        match self {
            Times::Product { hours, minutes, seconds } => {
                let in_minute = seconds.count_ones().max(1);
                let in_hour = in_minute * minutes.count_ones().max(1);
                let h = nth_bit(u64::from(*hours), place / in_hour)?;
                let m = nth_bit(*minutes, place % in_hour / in_minute)?;
                let s = nth_bit(*seconds, place % in_minute)?;
                Some(h * 3600 + m * 60 + s)
            }
            Times::List(list) => list.get(place as usize).copied(),
        }
    }
}

/// Converts a position of `BYSETPOS` to an index (from 0) in a sequence of `length`.
fn place(position: i16, length: u32) -> Option<u32> {
    let away = u32::from(position.unsigned_abs());
    if away > length {
        None
    } else if position < 0 {
        Some(length - away)
    } else {
        Some(away - 1)
    }
}

/// `None` for an empty list, which restricts nothing. 60 is left out: no clock shows it.
fn bits(values: &[u8]) -> Option<u64> {
    let set = values.iter().filter(|v| **v < 60).fold(0, |set, v| set | 1 << v);
    (!values.is_empty()).then_some(set)
}

fn next_bit(set: u64, from: u32) -> Option<u32> {
    let left = set & (!0 << from);
    (left != 0).then(|| left.trailing_zeros())
}

/// The number of bits set below `at`, and the bit at `at` itself (1 or 0).
fn split_at_bit(set: u64, at: u32) -> (u32, u32) {
    ((set & !(!0 << at)).count_ones(), u32::from(set & 1 << at != 0))
}

/// Counted from 0.
pub(super) fn nth_bit(mut set: u64, n: u32) -> Option<u32> {
    for _ in 0..n {
        set &= set.checked_sub(1)?;
    }
    (set != 0).then(|| set.trailing_zeros())
}
