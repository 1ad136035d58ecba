//! Limits on names of namespaces and search attributes, so that they can be typed, logged and queried.

/// Temporal's limit for ids.
const NAMESPACE_BYTES_MAX: usize = crate::validate::ID_BYTES_MAX;
/// Names that stand for the whole server in permissions: ours, and Temporal's.
const RESERVED: [&str; 2] = ["*", "temporal-system"];
/// Lower than for ids: these names are stored with every run, and used in every query.
const SEARCH_ATTRIBUTE_BYTES_MAX: usize = 255;

/// Checks the name of a new namespace. Existing ones keep their names.
pub(crate) fn check_namespace(name: &str) -> Result<(), String> {
    if name.is_empty() {
        return Err("Namespace not set on request.".to_owned());
    }
    if RESERVED.contains(&name) {
        return Err(format!("Namespace name {name:?} is reserved."));
    }
    check("Namespace", name, NAMESPACE_BYTES_MAX)
}

/// Checks the name of a new search attribute.
pub(crate) fn check_search_attribute(name: &str) -> Result<(), String> {
    if name.is_empty() {
        return Err("The name of a search attribute is empty.".to_owned());
    }
    check("Search attribute name", name, SEARCH_ATTRIBUTE_BYTES_MAX)?;
    // Queries can use any other name, if necessary in backquotes.
    if name.contains('`') {
        return Err(format!("Search attribute name {name:?} has a backquote."));
    }
    Ok(())
}

fn check(what: &str, name: &str, bytes_max: usize) -> Result<(), String> {
    if name.len() > bytes_max {
        return Err(format!("{what} length exceeds limit. ({}/{bytes_max})", name.len()));
    }
    if name.trim() != name {
        return Err(format!("{what} {name:?} begins or ends with a blank."));
    }
    if let Some(control) = name.chars().find(|letter| letter.is_control()) {
        return Err(format!("{what} {name:?} has the control character {control:?}."));
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_short_and_can_be_typed() {
        for name in ["default", "shop.eu-1", "Zürich", "a b", "Custom/Field", "x'y"] {
            assert_eq!(check_namespace(name), Ok(()), "{name:?}");
            assert_eq!(check_search_attribute(name), Ok(()), "{name:?}");
        }
        let long = "x".repeat(1_001);
        for name in ["", " ", " shop", "shop\n", "sh\0op", "sh\u{1b}[31mop", "sh\u{85}op", &long] {
            assert!(check_namespace(name).is_err(), "{name:?}");
            assert!(check_search_attribute(name).is_err(), "{name:?}");
        }
        assert!(check_namespace("*").is_err());
        assert!(check_namespace("temporal-system").is_err());
        assert!(check_search_attribute("a`b").is_err());
        assert!(check_search_attribute(&"x".repeat(256)).is_err());
    }
}
