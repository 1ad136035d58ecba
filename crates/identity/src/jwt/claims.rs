//! The claims that every token needs: whom it is about, whom it is for, and when it holds.

use std::time::{Duration, SystemTime, UNIX_EPOCH};

use serde_json::{Map, Value};

use super::error::InvalidToken;

/// The longest subject, in bytes. It is part of log lines and of stored events.
const MAX_SUBJECT_BYTES: usize = 512;
/// The end of the year 9999, in seconds since 1970.
const MAX_SECONDS: f64 = 253_402_300_799.0;

/// The registered claims of a token, valid at the time they were checked.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Claims<'a> {
    /// Whom the token is about: not empty, bounded, without control characters.
    pub subject: &'a str,
    /// When the token ends.
    pub expires_at: SystemTime,
}

impl<'a> Claims<'a> {
    /// Reads and checks the claims. Whether they are signed is another question.
    pub(super) fn check(
        claims: &'a Map<String, Value>,
        audiences: &[String],
        leeway: Duration,
        now: SystemTime,
    ) -> Result<Self, InvalidToken> {
        let expires_at = time(claims, "exp")?.ok_or(InvalidToken::Claim("exp"))?;
        if expires_at <= now {
            return Err(InvalidToken::Expired);
        }
        for name in ["nbf", "iat"] {
            let is_later = |begins_at| now.checked_add(leeway).is_some_and(|end| begins_at > end);
            if time(claims, name)?.is_some_and(is_later) {
                return Err(InvalidToken::NotYetValid);
            }
        }
        if !audience(claims)?.iter().any(|name| audiences.iter().any(|own| own == name)) {
            return Err(InvalidToken::Audience);
        }
        let subject = claims
            .get("sub")
            .and_then(Value::as_str)
            .filter(|name| (1..=MAX_SUBJECT_BYTES).contains(&name.len()))
            .filter(|name| !name.chars().any(char::is_control))
            .ok_or(InvalidToken::Claim("sub"))?;
        Ok(Self { subject, expires_at })
    }
}

/// The audiences: one name, or a list of names.
fn audience(claims: &Map<String, Value>) -> Result<Vec<&str>, InvalidToken> {
    match claims.get("aud") {
        Some(Value::String(name)) => Ok(vec![name]),
        Some(Value::Array(names)) => {
            names.iter().map(|name| name.as_str().ok_or(InvalidToken::Claim("aud"))).collect()
        }
        Some(Value::Null | Value::Bool(_) | Value::Number(_) | Value::Object(_)) | None => {
            Err(InvalidToken::Claim("aud"))
        }
    }
}

/// A time in seconds since 1970, which may have a fraction.
fn time(
    claims: &Map<String, Value>,
    name: &'static str,
) -> Result<Option<SystemTime>, InvalidToken> {
    let Some(value) = claims.get(name) else { return Ok(None) };
    value
        .as_f64()
        .filter(|seconds| (0.0..=MAX_SECONDS).contains(seconds))
        .and_then(|seconds| Duration::try_from_secs_f64(seconds).ok())
        .map(|since| Some(UNIX_EPOCH + since))
        .ok_or(InvalidToken::Claim(name))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(claims: Value, now: u64) -> Result<(), InvalidToken> {
        let Value::Object(claims) = claims else { panic!("claims are an object") };
        let now = UNIX_EPOCH + Duration::from_secs(now);
        let audiences = ["perennial".to_owned(), "spare".to_owned()];
        Claims::check(&claims, &audiences, Duration::from_secs(60), now).map(|_| ())
    }

    fn claims() -> Value {
        serde_json::json!({"sub": "ann", "aud": "perennial", "exp": 2000})
    }

    fn with(name: &str, value: Value) -> Value {
        let mut claims = claims();
        claims[name] = value;
        claims
    }

    #[test]
    fn token_expires_to_the_second() {
        assert_eq!(check(claims(), 1999), Ok(()));
        assert_eq!(check(claims(), 2000), Err(InvalidToken::Expired));
        assert_eq!(check(claims(), 2001), Err(InvalidToken::Expired));
        assert_eq!(check(with("exp", 2000.5.into()), 2000), Ok(()));
    }

    #[test]
    fn token_of_the_future_is_refused_beyond_the_leeway() {
        for name in ["nbf", "iat"] {
            assert_eq!(check(with(name, 1000.into()), 940), Ok(()), "{name}");
            let refused = check(with(name, 1000.into()), 939);
            assert_eq!(refused, Err(InvalidToken::NotYetValid), "{name}");
        }
    }

    #[test]
    fn any_leeway_can_be_configured() {
        let Value::Object(claims) = with("nbf", 1000.into()) else {
            panic!("claims are an object")
        };
        let now = UNIX_EPOCH + Duration::from_secs(10);
        assert!(Claims::check(&claims, &["perennial".to_owned()], Duration::MAX, now).is_ok());
    }

    #[test]
    fn audience_is_one_of_those_configured() {
        let audience = |value: Value| check(with("aud", value), 1000);
        assert_eq!(audience(serde_json::json!(["other", "spare"])), Ok(()));
        assert_eq!(audience("other".into()), Err(InvalidToken::Audience));
        assert_eq!(audience(serde_json::json!([])), Err(InvalidToken::Audience));
        assert_eq!(audience(serde_json::json!(["perennial", 7])), Err(InvalidToken::Claim("aud")));
        assert_eq!(audience(Value::Null), Err(InvalidToken::Claim("aud")));
    }

    #[test]
    fn claims_of_the_wrong_type_are_refused() {
        for bad in [Value::Null, "2000".into(), (-1).into(), 1e300.into(), true.into()] {
            for name in ["exp", "nbf", "iat"] {
                let refused = check(with(name, bad.clone()), 1000);
                assert_eq!(refused, Err(InvalidToken::Claim(name)), "{name}: {bad}");
            }
        }
        for bad in [Value::Null, "".into(), 7.into(), "a\nb".into(), "x".repeat(513).into()] {
            assert_eq!(check(with("sub", bad), 1000), Err(InvalidToken::Claim("sub")));
        }
    }
}
