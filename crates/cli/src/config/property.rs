//! Properties of a profile.

use std::fmt;
use std::str::FromStr;

/// A property of a profile, by its dotted name: `tls.server_name`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Property {
    pub(super) path: Vec<String>,
    pub(super) kind: Kind,
}

/// The type of its values.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Kind {
    Text,
    Flag,
    /// A table whose presence is the value: `tls`.
    Section,
}

const TEXTS: [&str; 5] = ["address", "namespace", "api_key", "codec.endpoint", "codec.auth"];
const TLS_TEXTS: [&str; 7] = [
    "client_cert_path",
    "client_cert_data",
    "client_key_path",
    "client_key_data",
    "server_ca_cert_path",
    "server_ca_cert_data",
    "server_name",
];
const TLS_FLAGS: [&str; 2] = ["disabled", "disable_host_verification"];

impl FromStr for Property {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let text = text.replace('-', "_");
        let path = |text: &str| text.split('.').map(str::to_owned).collect();
        if TEXTS.contains(&text.as_str()) {
            return Ok(Property { path: path(&text), kind: Kind::Text });
        }
        if text == "tls" {
            return Ok(Property { path: path(&text), kind: Kind::Section });
        }
        match text.split_once('.') {
            Some(("tls", name)) if TLS_TEXTS.contains(&name) => {
                Ok(Property { path: path(&text), kind: Kind::Text })
            }
            Some(("tls", name)) if TLS_FLAGS.contains(&name) => {
                Ok(Property { path: path(&text), kind: Kind::Flag })
            }
            // Headers are lower case with dashes, and may have dots.
            Some(("grpc_meta", name)) if !name.is_empty() => {
                let name = name.to_ascii_lowercase().replace('_', "-");
                Ok(Property { path: vec!["grpc_meta".to_owned(), name], kind: Kind::Text })
            }
            _ => Err(format!(
                "a profile has {}, tls, tls.{{{},{}}} and grpc_meta.NAME",
                TEXTS.join(", "),
                TLS_TEXTS.join(","),
                TLS_FLAGS.join(",")
            )),
        }
    }
}

impl fmt::Display for Property {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.path.join("."))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn properties_are_those_that_temporals_tools_know() {
        let read = |text: &str| text.parse::<Property>().map(|it| (it.to_string(), it.kind));
        assert_eq!(read("address"), Ok(("address".to_owned(), Kind::Text)));
        assert_eq!(read("api-key"), Ok(("api_key".to_owned(), Kind::Text)));
        assert_eq!(read("tls.disabled"), Ok(("tls.disabled".to_owned(), Kind::Flag)));
        assert_eq!(read("grpc_meta.My-Key"), Ok(("grpc_meta.my-key".to_owned(), Kind::Text)));
        assert!(read("adress").unwrap_err().starts_with("a profile has address,"));
    }
}
