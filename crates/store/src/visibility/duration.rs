//! Parses durations in queries.

/// Nanoseconds of a duration: a plain number of them, `1h30m` with units from `ns` to `d`, or
/// `hh:mm:ss`.
pub(super) fn parse_nanos(text: &str) -> Option<i64> {
    text.parse().ok().or_else(|| parse_units(text)).or_else(|| parse_clock(text))
}

/// Numbers with units, one after the other: `1.5h`, `-1h30m`, `2d`.
fn parse_units(text: &str) -> Option<i64> {
    let negative = text.starts_with('-');
    let mut rest = text.strip_prefix(['-', '+']).unwrap_or(text);
    if rest == "0" {
        return Some(0);
    }
    let mut total = 0_i128;
    let mut seen = false;
    while !rest.is_empty() {
        let (whole, after) = split_digits(rest);
        let (fraction, after) = match after.strip_prefix('.') {
            Some(after) => split_digits(after),
            None => ("", after),
        };
        if whole.is_empty() && fraction.is_empty() {
            return None;
        }
        let end = after.find(|c: char| c == '.' || c.is_ascii_digit()).unwrap_or(after.len());
        let (unit, next) = after.split_at(end);
        let unit = unit_nanos(unit)?;
        // Eighteen digits are finer than any unit, and leave room to multiply.
        let fraction = &fraction[..fraction.len().min(18)];
        let scale = 10_i128.pow(u32::try_from(fraction.len()).ok()?);
        let whole: i128 = if whole.is_empty() { 0 } else { whole.parse().ok()? };
        let fraction: i128 = if fraction.is_empty() { 0 } else { fraction.parse().ok()? };
        total =
            whole.checked_mul(unit)?.checked_add(fraction * unit / scale)?.checked_add(total)?;
        seen = true;
        rest = next;
    }
    let total = if negative { -total } else { total };
    i64::try_from(total).ok().filter(|_| seen)
}

fn split_digits(text: &str) -> (&str, &str) {
    text.split_at(text.find(|c: char| !c.is_ascii_digit()).unwrap_or(text.len()))
}

fn unit_nanos(unit: &str) -> Option<i128> {
    Some(match unit {
        "ns" => 1,
        // The micro sign and the Greek letter look the same.
        "us" | "µs" | "μs" => 1_000,
        "ms" => 1_000_000,
        "s" => 1_000_000_000,
        "m" => 60_000_000_000,
        "h" => 3_600_000_000_000,
        "d" => 86_400_000_000_000,
        _ => return None,
    })
}

/// `hh:mm:ss`, with any number of hours.
fn parse_clock(text: &str) -> Option<i64> {
    let mut fields = text.trim_start().split(':');
    let mut number = || fields.next()?.parse::<i64>().ok().filter(|number| *number >= 0);
    let (hours, minutes, seconds) = (number()?, number()?, number()?);
    if minutes > 59 || seconds > 59 || fields.next().is_some() {
        return None;
    }
    hours.checked_mul(3_600)?.checked_add(minutes * 60 + seconds)?.checked_mul(1_000_000_000)
}

#[cfg(test)]
mod tests {
    use super::*;

    const SECOND: i64 = 1_000_000_000;

    #[test]
    fn durations_come_as_numbers_units_or_clock() {
        let nanos = |text| parse_nanos(text).unwrap();
        assert_eq!(nanos("5"), 5);
        assert_eq!(nanos("-5"), -5);
        assert_eq!(nanos("0"), 0);
        assert_eq!(nanos("5s"), 5 * SECOND);
        assert_eq!(nanos("-5s"), -5 * SECOND);
        assert_eq!(nanos("1h30m"), 5_400 * SECOND);
        assert_eq!(nanos("1.5h"), 5_400 * SECOND);
        assert_eq!(nanos(".5s"), SECOND / 2);
        assert_eq!(nanos("1us"), 1_000);
        assert_eq!(nanos("1µs"), 1_000);
        assert_eq!(nanos("300ms"), 300_000_000);
        assert_eq!(nanos("1d12h"), 36 * 3_600 * SECOND);
        assert_eq!(nanos("0.5d"), 12 * 3_600 * SECOND);
        assert_eq!(nanos("01:30:00"), 5_400 * SECOND);
        assert_eq!(nanos("+100:0:9"), 360_009 * SECOND);
        assert_eq!(nanos(" 1:2:3"), 3_723 * SECOND);
    }

    #[test]
    fn anything_else_is_no_duration() {
        for text in [
            "",
            "-",
            "s",
            ".s",
            "abc",
            "1.5",
            "1w",
            "1h 2m",
            "1h-2m",
            "1:2",
            "1:2:3:4",
            "01:99:00",
            "00:00:60",
            "-1:00:00",
            "9999999h",
            "2562048:00:00",
            "1é",
            "99999999999999999999999999999999999999999d",
        ] {
            assert_eq!(parse_nanos(text), None, "{text}");
        }
    }
}
