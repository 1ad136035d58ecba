//! What X.509 certificates say.

use jiff::Timestamp;
use x509_parser::certificate::X509Certificate;
use x509_parser::extensions::GeneralName;
use x509_parser::prelude::FromDer;
use x509_parser::time::ASN1Time;

/// Parses a certificate.
pub fn parse(der: &[u8]) -> Result<X509Certificate<'_>, String> {
    let (rest, certificate) = X509Certificate::from_der(der).map_err(|error| error.to_string())?;
    match rest {
        [] => Ok(certificate),
        _ => Err("bytes follow the certificate".to_owned()),
    }
}

/// The alternative names of a certificate's subject.
pub fn alternative_names<'a>(
    certificate: &'a X509Certificate<'_>,
) -> Result<&'a [GeneralName<'a>], String> {
    let names = certificate.subject_alternative_name().map_err(|error| error.to_string())?;
    Ok(names.map_or(&[], |names| names.value.general_names.as_slice()))
}

/// The first second in which the certificate is valid.
pub fn not_before(certificate: &X509Certificate<'_>) -> Timestamp {
    timestamp(certificate.validity().not_before)
}

/// The last second in which the certificate is valid.
pub fn not_after(certificate: &X509Certificate<'_>) -> Timestamp {
    timestamp(certificate.validity().not_after)
}

fn timestamp(time: ASN1Time) -> Timestamp {
    let seconds = time.timestamp();
    // RFC 5280 has certificates without an end expire at the last second of the year 9999, which is out of range.
    let out_of_range = if seconds < 0 { Timestamp::MIN } else { Timestamp::MAX };
    Timestamp::from_second(seconds).unwrap_or(out_of_range)
}
