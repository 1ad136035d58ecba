//! Parses memory sizes.

/// Minimum: below it, every request would be refused.
const SIZE_MIN: usize = 1 << 20;

/// Parses bytes: `268435456`, `256MB` or `1GB`. A MB is 1024 KB.
pub(super) fn parse(text: &str) -> Result<usize, String> {
    let wrong = || format!("`{text}` is not a size: write bytes, or a number with KB, MB or GB");
    let upper = text.trim().to_ascii_uppercase();
    let digits = upper.trim_end_matches(|c: char| !c.is_ascii_digit());
    let unit: usize = match upper[digits.len()..].trim_start() {
        "" | "B" => 1,
        "KB" => 1 << 10,
        "MB" => 1 << 20,
        "GB" => 1 << 30,
        _ => return Err(wrong()),
    };
    let number: usize = digits.parse().map_err(|_| wrong())?;
    let bytes = number.checked_mul(unit).ok_or_else(wrong)?;
    if bytes < SIZE_MIN {
        return Err(format!("{text} is too small: a server needs at least 1MB"));
    }
    Ok(bytes)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sizes_are_bytes_or_have_a_unit() {
        assert_eq!(parse("1048576"), Ok(1 << 20));
        assert_eq!(parse("256MB"), Ok(256 << 20));
        assert_eq!(parse("2 gb"), Ok(2 << 30));
        for wrong in ["", "MB", "12 parsecs", "-1MB", "1.5GB", "99999999999999999999", "5KB"] {
            assert!(parse(wrong).is_err(), "{wrong}");
        }
    }
}
