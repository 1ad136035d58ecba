//! The header `grpc-timeout`. The fuzzer includes this file, so it uses nothing else of this crate.
#![allow(unreachable_pub, reason = "the fuzzer includes this file")]

use std::time::Duration;

/// The timeout in a header: up to eight digits and a unit.
pub fn parse(text: &str) -> Option<Duration> {
    let (digits, unit) = text.split_at_checked(text.len().checked_sub(1)?)?;
    let is_number = digits.len() <= 8 && digits.bytes().all(|digit| digit.is_ascii_digit());
    let amount: u64 = if is_number { digits.parse().ok()? } else { return None };
    Some(match unit {
        "H" => Duration::from_secs(amount * 3_600),
        "M" => Duration::from_secs(amount * 60),
        "S" => Duration::from_secs(amount),
        "m" => Duration::from_millis(amount),
        "u" => Duration::from_micros(amount),
        "n" => Duration::from_nanos(amount),
        _ => return None,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn timeouts_are_read_in_every_unit() {
        let read = |text| parse(text).map(|timeout| timeout.as_nanos());
        assert_eq!(read("70S"), Some(70_000_000_000));
        assert_eq!(read("1H"), Some(3_600_000_000_000));
        assert_eq!(read("2M"), Some(120_000_000_000));
        assert_eq!(read("69999m"), Some(69_999_000_000));
        assert_eq!(read("5u"), Some(5_000));
        assert_eq!(read("5n"), Some(5));
        for bad in ["", "S", "5", "5x", "-5S", "+5S", "123456789S", "é"] {
            assert_eq!(read(bad), None, "{bad}");
        }
    }
}
