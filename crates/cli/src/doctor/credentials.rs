//! Checks for certificates, API keys and keys of issuers of tokens that expire.

use jiff::{SignedDuration, Timestamp};
use perennial_proto::perennial::{
    DescribeServerResponse, ExpiringApiKey, ServerCertificate, TokenIssuer,
};

use super::findings::{CheckResult, Findings, counted};
use super::left;
use crate::output::instant;

const DAY: SignedDuration = SignedDuration::from_hours(24);
/// Whoever looks after certificates wants to know this long before.
const EXPIRES_SOON: SignedDuration = SignedDuration::from_hours(30 * 24);
/// Nobody has replaced it, and there is hardly time left.
const EXPIRES_AT_ONCE: SignedDuration = SignedDuration::from_hours(3 * 24);
/// The server trusts the keys of an issuer for a day without a load.
const KEYS_OLD: SignedDuration = SignedDuration::from_hours(12);

/// Checks the certificates, API keys and issuers of tokens of a server.
pub(super) fn check(server: &DescribeServerResponse, now: Timestamp, findings: &mut Findings) {
    let certificates = server.certificates.iter().filter_map(|it| certificate(it, now));
    if !report("certificates", certificates, findings) && !server.certificates.is_empty() {
        let count = i64::try_from(server.certificates.len()).unwrap_or(i64::MAX);
        findings
            .good("certificates", format!("{}, none expires soon", counted(count, "certificate")));
    }
    let keys = server.expiring_api_keys.iter().filter_map(|it| api_key(it, now));
    report("API keys", keys, findings);
    let issuers = server.token_issuers.iter().filter_map(|it| token_issuer(it, now));
    if !report("token issuers", issuers, findings) && !server.token_issuers.is_empty() {
        let count = i64::try_from(server.token_issuers.len()).unwrap_or(i64::MAX);
        let loaded = format!("the keys of {} are loaded", counted(count, "issuer"));
        findings.good("token issuers", loaded);
    }
}

/// Adds the problems, and returns whether there were any.
fn report(
    check: &'static str,
    problems: impl Iterator<Item = (CheckResult, String)>,
    findings: &mut Findings,
) -> bool {
    let mut is_any = false;
    for (result, details) in problems {
        findings.add(check, result, details);
        is_any = true;
    }
    is_any
}

fn certificate(it: &ServerCertificate, now: Timestamp) -> Option<(CheckResult, String)> {
    let (from, until) = (instant(it.not_before.as_ref())?, instant(it.not_after.as_ref())?);
    let ServerCertificate { file, subject, .. } = it;
    let (remaining, life) = (until.duration_since(now), until.duration_since(from));
    let expires =
        || format!("`{subject}` in {file} expires in {}; replace the file", left(now, until));
    if now < from {
        let why = format!(
            "`{subject}` in {file} isn't valid before {from}: connections fail; check the server's clock"
        );
        return Some((CheckResult::Bad, why));
    }
    if now > until {
        let since = left(until, now);
        let why = format!(
            "`{subject}` in {file} expired {since} ago: connections fail; replace the file"
        );
        return Some((CheckResult::Bad, why));
    }
    // A certificate for a day always expires soon: only the end of its life counts.
    if remaining < EXPIRES_AT_ONCE && remaining * 10 < life {
        return Some((CheckResult::Bad, expires()));
    }
    (remaining < EXPIRES_SOON && remaining * 3 < life).then(|| (CheckResult::Remark, expires()))
}

fn api_key(it: &ExpiringApiKey, now: Timestamp) -> Option<(CheckResult, String)> {
    let until = instant(it.expires_at.as_ref())?;
    let name = &it.name;
    let advice = "create another with `perennial operator api-key create`";
    if now < until {
        let soon = format!("{name} expires in {}; {advice}", left(now, until));
        return Some((CheckResult::Remark, soon));
    }
    let shown = instant(it.last_refused_at.as_ref())?;
    let (since, ago) = (left(until, now), left(shown, now));
    let why = format!(
        "{name} expired {since} ago, and was shown {ago} ago: its holder is refused; {advice}"
    );
    Some((CheckResult::Bad, why))
}

fn token_issuer(it: &TokenIssuer, now: Timestamp) -> Option<(CheckResult, String)> {
    let TokenIssuer { issuer, problem, .. } = it;
    let Some(loaded) = instant(it.keys_loaded_at.as_ref()) else {
        let why =
            format!("the keys of {issuer} were never loaded, so its tokens are refused: {problem}");
        return Some((CheckResult::Bad, why));
    };
    let age = now.duration_since(loaded);
    if problem.is_empty() && age < KEYS_OLD {
        return None;
    }
    let ago = left(loaded, now);
    let end = match age > DAY {
        true => "its tokens are refused",
        false => "after a day its tokens are refused",
    };
    let problem = if problem.is_empty() { "" } else { &format!(": {problem}") };
    let why = format!("the keys of {issuer} were last loaded {ago} ago, and {end}{problem}");
    Some((if age > KEYS_OLD { CheckResult::Bad } else { CheckResult::Remark }, why))
}
