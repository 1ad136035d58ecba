//! The header `authorization`.

/// The token in a header `authorization: Bearer …`. The scheme's case doesn't matter.
///
/// ```
/// assert_eq!(perennial_identity::bearer_token("Bearer abc"), Some("abc"));
/// assert_eq!(perennial_identity::bearer_token("Basic abc"), None);
/// ```
pub fn bearer_token(header: &str) -> Option<&str> {
    let (scheme, token) = header.split_once(' ')?;
    let token = token.trim();
    (scheme.eq_ignore_ascii_case("bearer") && !token.is_empty()).then_some(token)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bearer_token_is_found_in_any_case() {
        assert_eq!(bearer_token("Bearer abc"), Some("abc"));
        assert_eq!(bearer_token("bearer  abc "), Some("abc"));
        for bad in ["", "Bearer", "Bearer ", "Basic abc", "abc", "Bearerabc"] {
            assert_eq!(bearer_token(bad), None, "{bad:?}");
        }
    }
}
