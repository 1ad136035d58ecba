//! Parses times in queries.

/// Microseconds since the Unix epoch of an RFC 3339 time, as Temporal's server reads one: fractions of
/// any length after a dot or a comma (cut to microseconds), an hour of one digit, offsets up to 24:60.
pub(super) fn parse_micros(text: &str) -> Option<i64> {
    let (date, time) = text.split_once('T')?;
    let days = parse_days(date)?;
    let (clock, offset_minutes) = split_offset(time)?;
    let (clock, fraction) = match clock.split_once(['.', ',']) {
        Some((clock, digits)) => (clock, parse_fraction(digits)?),
        None => (clock, 0),
    };
    let mut fields = clock.split(':');
    let hour = fields.next().filter(|hour| matches!(hour.len(), 1 | 2)).and_then(digits)?;
    let minute = two_digits(fields.next()?)?;
    let second = two_digits(fields.next()?)?;
    if fields.next().is_some() || hour > 23 || minute > 59 || second > 59 {
        return None;
    }
    let seconds = days * 86_400 + (hour * 60 + minute - offset_minutes) * 60 + second;
    Some(seconds * 1_000_000 + fraction)
}

/// Days since the epoch of `YYYY-MM-DD`.
fn parse_days(date: &str) -> Option<i64> {
    let mut fields = date.split('-');
    let year = fields.next().filter(|year| year.len() == 4).and_then(digits)?;
    let month = two_digits(fields.next()?)?;
    let day = two_digits(fields.next()?)?;
    let in_month = match month {
        2 if year % 4 == 0 && (year % 100 != 0 || year % 400 == 0) => 29,
        2 => 28,
        4 | 6 | 9 | 11 => 30,
        1..=12 => 31,
        _ => return None,
    };
    if fields.next().is_some() || !(1..=in_month).contains(&day) {
        return None;
    }
    // Years counted from March put the leap day last, so months need no table.
    let (year, month) = if month > 2 { (year, month - 3) } else { (year - 1, month + 9) };
    let leap_days = year.div_euclid(4) - year.div_euclid(100) + year.div_euclid(400);
    let day_of_year = (153 * month + 2) / 5 + day - 1;
    const MARCH_OF_YEAR_0_TO_EPOCH: i64 = 719_468;
    Some(365 * year + leap_days + day_of_year - MARCH_OF_YEAR_0_TO_EPOCH)
}

/// The clock, and the minutes it is ahead of UTC.
fn split_offset(time: &str) -> Option<(&str, i64)> {
    if let Some(clock) = time.strip_suffix('Z') {
        return Some((clock, 0));
    }
    let (clock, offset) = time.split_at(time.rfind(['+', '-'])?);
    let (hours, minutes) = offset[1..].split_once(':')?;
    let (hours, minutes) = (two_digits(hours)?, two_digits(minutes)?);
    if hours > 24 || minutes > 60 {
        return None;
    }
    let ahead = hours * 60 + minutes;
    Some((clock, if offset.starts_with('-') { -ahead } else { ahead }))
}

fn parse_fraction(text: &str) -> Option<i64> {
    if text.is_empty() || !text.bytes().all(|byte| byte.is_ascii_digit()) {
        return None;
    }
    digits(&format!("{text:0<6}")[..6])
}

fn two_digits(text: &str) -> Option<i64> {
    digits(text).filter(|_| text.len() == 2)
}

fn digits(text: &str) -> Option<i64> {
    text.parse().ok().filter(|_| text.bytes().all(|byte| byte.is_ascii_digit()))
}

#[cfg(test)]
mod tests {
    use super::*;

    const NEW_YEAR_2020: i64 = 1_577_836_800_000_000;

    #[test]
    fn times_are_rfc_3339_to_the_microsecond() {
        let micros = |text| parse_micros(text).unwrap();
        assert_eq!(micros("1970-01-01T00:00:00Z"), 0);
        assert_eq!(micros("2020-01-01T00:00:00Z"), NEW_YEAR_2020);
        assert_eq!(micros("2020-01-01T02:00:00+02:00"), NEW_YEAR_2020);
        assert_eq!(micros("2019-12-31T18:30:00-05:30"), NEW_YEAR_2020);
        assert_eq!(micros("2020-01-01T00:00:00.123456789Z"), NEW_YEAR_2020 + 123_456);
        assert_eq!(micros("2020-01-01T00:00:00,5Z"), NEW_YEAR_2020 + 500_000);
        assert_eq!(micros("2020-01-01T0:00:00Z"), NEW_YEAR_2020);
        assert_eq!(micros("2020-02-29T00:00:00Z"), NEW_YEAR_2020 + 59 * 86_400_000_000);
        assert_eq!(micros("0000-01-01T00:00:00Z"), -62_167_219_200_000_000);
        assert_eq!(micros("9999-12-31T23:59:59-24:60"), 253_402_390_799_000_000);
    }

    #[test]
    fn anything_else_is_no_time() {
        for text in [
            "",
            "2020-01-01",
            "2020-01-01 00:00:00",
            "2020-01-01T00:00:00",
            "2020-01-01T00:00:00z",
            "2020-01-01T00:00:00+0200",
            "2020-01-01T00:00:00+24:61",
            "2020-01-01T00:00:00+25:00",
            "2020-01-01T24:00:00Z",
            "2020-01-01T00:60:00Z",
            "2020-01-01T00:00:60Z",
            "2020-01-01T00:00:00.Z",
            "2020-01-01T00:00:00.1,2Z",
            "2020-01-01T000:00:00Z",
            "2020-13-01T00:00:00Z",
            "2020-00-01T00:00:00Z",
            "2019-02-29T00:00:00Z",
            "2020-1-1T00:00:00Z",
            "20200-01-01T00:00:00Z",
            "+020-01-01T00:00:00Z",
            " 2020-01-01T00:00:00Z",
            "2020-01-01T00:00:00Z ",
            "2020-01-01T00:00:00.١Z",
        ] {
            assert_eq!(parse_micros(text), None, "{text}");
        }
    }
}
