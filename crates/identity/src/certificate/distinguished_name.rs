//! Distinguished names as text (RFC 4514), as in `CN=worker,O=Shop`.

use x509_parser::der_parser::asn1_rs::ToDer;
use x509_parser::x509::{AttributeTypeAndValue, X509Name};

/// The attributes that RFC 4514 names. Others are written as numbers.
const ATTRIBUTE_NAMES: [(&str, &str); 9] = [
    ("2.5.4.3", "CN"),
    ("2.5.4.7", "L"),
    ("2.5.4.8", "ST"),
    ("2.5.4.10", "O"),
    ("2.5.4.11", "OU"),
    ("2.5.4.6", "C"),
    ("2.5.4.9", "STREET"),
    ("0.9.2342.19200300.100.1.25", "DC"),
    ("0.9.2342.19200300.100.1.1", "UID"),
];

/// The name as text. Different names have different texts.
pub fn to_text(name: &X509Name<'_>) -> String {
    // RFC 4514 begins with the last, most specific part.
    let mut parts: Vec<String> = name
        .iter_rdn()
        .map(|part| part.iter().map(attribute).collect::<Vec<_>>().join("+"))
        .collect();
    parts.reverse();
    parts.join(",")
}

fn attribute(attribute: &AttributeTypeAndValue<'_>) -> String {
    let number = attribute.attr_type().to_id_string();
    let known = ATTRIBUTE_NAMES.iter().find(|(known, _)| *known == number);
    match (known, attribute.as_str()) {
        (Some((_, name)), Ok(value)) => format!("{name}={}", escaped(value)),
        (Some((_, name)), Err(_)) => format!("{name}=#{}", encoded(attribute)),
        (None, _) => format!("{number}=#{}", encoded(attribute)),
    }
}

/// The value's DER encoding in hexadecimal digits.
fn encoded(attribute: &AttributeTypeAndValue<'_>) -> String {
    // An attribute was parsed from DER, so it can be written as DER.
    let der = attribute.attr_value().to_der_vec().unwrap_or_default();
    der.iter().map(|byte| format!("{byte:02x}")).collect()
}

fn escaped(value: &str) -> String {
    let mut text = String::new();
    let last = value.chars().count().saturating_sub(1);
    for (index, char) in value.chars().enumerate() {
        match char {
            '"' | '+' | ',' | ';' | '<' | '>' | '\\' => text.extend(['\\', char]),
            '#' if index == 0 => text.push_str("\\#"),
            ' ' if index == 0 || index == last => text.push_str("\\ "),
            control if control.is_control() => {
                let mut bytes = [0; 4];
                for byte in control.encode_utf8(&mut bytes).bytes() {
                    text.push_str(&format!("\\{byte:02x}"));
                }
            }
            other => text.push(other),
        }
    }
    text
}

#[cfg(test)]
mod tests {
    use rcgen::{CertificateParams, DistinguishedName, DnType, DnValue, KeyPair};

    use super::super::x509;
    use super::*;

    fn text(name: DistinguishedName) -> String {
        let mut params = CertificateParams::default();
        params.distinguished_name = name;
        let certificate = params.self_signed(&KeyPair::generate().unwrap()).unwrap();
        to_text(x509::parse(certificate.der()).unwrap().subject())
    }

    #[test]
    fn last_attribute_comes_first_and_special_characters_are_escaped() {
        let mut name = DistinguishedName::new();
        name.push(DnType::OrganizationName, " Shop, Inc. ");
        name.push(DnType::CommonName, "#worker+1\n");
        assert_eq!(text(name), r"CN=\#worker\+1\0a,O=\ Shop\, Inc.\ ");
    }

    #[test]
    fn unknown_attributes_and_encodings_are_written_as_numbers() {
        let mut name = DistinguishedName::new();
        name.push(DnType::CustomDnType(vec![1, 2, 3, 4]), "x");
        name.push(DnType::CommonName, DnValue::BmpString("é".try_into().unwrap()));
        assert_eq!(text(name), "CN=#1e0200e9,1.2.3.4=#0c0178");
    }

    #[test]
    fn empty_name_is_an_empty_text() {
        assert_eq!(text(DistinguishedName::new()), "");
    }
}
