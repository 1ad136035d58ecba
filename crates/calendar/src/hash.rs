//! A hash that is the same in every version of the product.

/// FNV-1a. What it gives is part of the product: jitter and fingerprints that people have seen come
/// from it. It tells apart; it doesn't defend against someone who wants two to look alike.
pub(crate) fn fnv1a(bytes: &[u8]) -> u64 {
    bytes.iter().fold(0xcbf2_9ce4_8422_2325, |hash, byte| {
        (hash ^ u64::from(*byte)).wrapping_mul(0x0000_0100_0000_01b3)
    })
}
