//! Values that nobody but the server may see, and the files that hold them.

use std::fmt;
use std::path::Path;

use serde::Deserialize;

/// A key, a password or a header that may hold one. Never shown by `Debug`, so it gets into no log and no error.
#[derive(Clone, PartialEq, Eq, Deserialize)]
#[serde(transparent)]
pub(crate) struct Secret(String);

impl Secret {
    /// The value, to be sent to the server.
    pub(crate) fn reveal(&self) -> &str {
        &self.0
    }
}

impl From<String> for Secret {
    fn from(value: String) -> Self {
        Self(value)
    }
}

impl fmt::Debug for Secret {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.write_str(HIDDEN)
    }
}

/// Replaces a secret in lists of settings.
pub(crate) const HIDDEN: &str = "(hidden)";

/// Whether a setting is a secret, by the name of its flag (`api-key`) or its property (`grpc_meta.x-token`).
pub(crate) fn is_secret(name: &str) -> bool {
    let name = name.to_ascii_lowercase().replace('_', "-");
    match name.split_once('.') {
        Some(("grpc-meta", header)) => is_secret_header(header),
        Some(("codec", "auth")) | Some(("tls", "client-key-data")) => true,
        Some(_) => false,
        // A preset can have a whole header, whatever its name.
        None => matches!(
            name.as_str(),
            "api-key" | "codec-auth" | "codec-header" | "grpc-meta" | "tls-key-data"
        ),
    }
}

/// Whether a header looks like a credential.
pub(crate) fn is_secret_header(name: &str) -> bool {
    const WORDS: [&str; 6] = ["auth", "cookie", "key", "password", "secret", "token"];
    let name = name.to_ascii_lowercase();
    WORDS.iter().any(|word| name.contains(word))
}

/// Warns on standard error if all users of this machine may read a file with secrets. The file is still used, as by
/// Temporal's tools, which read the same file and don't look at its mode.
#[cfg_attr(not(unix), expect(unused_variables, reason = "files have no mode there"))]
pub(crate) fn warn_if_exposed(path: &Path) {
    #[cfg(unix)]
    {
        use std::os::unix::fs::PermissionsExt;
        const READ_BY_OTHERS: u32 = 0o004;
        // A file that can't be looked at is reported where it is read.
        let mode = std::fs::metadata(path).map(|it| it.permissions().mode()).unwrap_or_default();
        if mode & READ_BY_OTHERS != 0 {
            crate::terminal::print_stderr(format_args!(
                "warning: {0} has credentials and can be read by all users of this machine; run `chmod 600 {0}`",
                path.display()
            ));
        }
    }
}

/// An error in a file that may hold secrets, without the line that the parser would quote.
pub(crate) fn error_without_text(
    text: &str,
    message: &str,
    span: Option<std::ops::Range<usize>>,
) -> String {
    let Some(before) = span.and_then(|span| text.get(..span.start)) else {
        return message.to_owned();
    };
    let line = before.matches('\n').count() + 1;
    let column = before.chars().rev().take_while(|it| *it != '\n').count() + 1;
    format!("line {line}, column {column}: {message}")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn secrets_are_not_shown() {
        assert_eq!(format!("{:?}", Secret::from("hunter2".to_owned())), HIDDEN);
    }

    #[test]
    fn settings_with_credentials_are_secrets() {
        for name in ["api_key", "api-key", "codec.auth", "tls.client_key_data", "tls-key-data"] {
            assert!(is_secret(name), "{name}");
        }
        for name in ["grpc_meta.Authorization", "grpc_meta.x-access-token", "grpc-meta"] {
            assert!(is_secret(name), "{name}");
        }
        for name in
            ["address", "namespace", "tls.client_key_path", "grpc_meta.team", "codec.endpoint"]
        {
            assert!(!is_secret(name), "{name}");
        }
    }
}
