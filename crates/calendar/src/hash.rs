//! A hash that is the same in every version of the product.

/// FNV-1a. Its results are a stable interface: jitter and fingerprints depend on them. It is not
/// collision-resistant against an attacker.
pub(crate) fn fnv1a(bytes: &[u8]) -> u64 {
    bytes.iter().fold(0xcbf2_9ce4_8422_2325, |hash, byte| {
        (hash ^ u64::from(*byte)).wrapping_mul(0x0000_0100_0000_01b3)
    })
}
