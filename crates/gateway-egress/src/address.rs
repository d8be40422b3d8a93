//! Which addresses are public. One table for all that is dialled (security.md §5.3).

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

/// Ranges of IPv4 that are not public: IANA's registry of special purposes, multicast and what is reserved.
const V4: [(Ipv4Addr, u32); 15] = [
    // This network.
    (Ipv4Addr::new(0, 0, 0, 0), 8),
    // Private.
    (Ipv4Addr::new(10, 0, 0, 0), 8),
    // Shared by carriers.
    (Ipv4Addr::new(100, 64, 0, 0), 10),
    // Loopback.
    (Ipv4Addr::new(127, 0, 0, 0), 8),
    // Link-local.
    (Ipv4Addr::new(169, 254, 0, 0), 16),
    // Private.
    (Ipv4Addr::new(172, 16, 0, 0), 12),
    // Assignments of protocols.
    (Ipv4Addr::new(192, 0, 0, 0), 24),
    // Documentation.
    (Ipv4Addr::new(192, 0, 2, 0), 24),
    // Relays of 6to4.
    (Ipv4Addr::new(192, 88, 99, 0), 24),
    // Private.
    (Ipv4Addr::new(192, 168, 0, 0), 16),
    // Benchmarking.
    (Ipv4Addr::new(198, 18, 0, 0), 15),
    // Documentation.
    (Ipv4Addr::new(198, 51, 100, 0), 24),
    (Ipv4Addr::new(203, 0, 113, 0), 24),
    // Multicast.
    (Ipv4Addr::new(224, 0, 0, 0), 4),
    // Reserved, and broadcast.
    (Ipv4Addr::new(240, 0, 0, 0), 4),
];

/// The only range of IPv6 that public addresses are in. Outside lie the unspecified and loopback addresses, all that
/// stand for an IPv4 address (compatible, mapped, translated, NAT64), and unique-local, link-local, site-local and
/// multicast ones.
const V6_GLOBAL: (Ipv6Addr, u32) = (Ipv6Addr::new(0x2000, 0, 0, 0, 0, 0, 0, 0), 3);

/// Ranges in it that are not public.
const V6: [(Ipv6Addr, u32); 4] = [
    // Protocols of the IETF: Teredo, benchmarking, ORCHID.
    (Ipv6Addr::new(0x2001, 0, 0, 0, 0, 0, 0, 0), 23),
    // Documentation.
    (Ipv6Addr::new(0x2001, 0xdb8, 0, 0, 0, 0, 0, 0), 32),
    // 6to4.
    (Ipv6Addr::new(0x2002, 0, 0, 0, 0, 0, 0, 0), 16),
    // Documentation.
    (Ipv6Addr::new(0x3fff, 0, 0, 0, 0, 0, 0, 0), 20),
];

const V4_LINK_LOCAL: (Ipv4Addr, u32) = (Ipv4Addr::new(169, 254, 0, 0), 16);
const V6_LINK_LOCAL: (Ipv6Addr, u32) = (Ipv6Addr::new(0xfe80, 0, 0, 0, 0, 0, 0, 0), 10);
/// Where a cloud tells its machines their credentials over IPv6; over IPv4 that is a link-local address.
const V6_METADATA: Ipv6Addr = Ipv6Addr::new(0xfd00, 0xec2, 0, 0, 0, 0, 0, 0x254);
/// Addresses whose last 32 bits are an IPv4 address that is reached in the end.
const V6_CARRIERS: [(Ipv6Addr, u32); 4] = [
    (Ipv6Addr::new(0, 0, 0, 0, 0, 0, 0, 0), 96),
    (Ipv6Addr::new(0, 0, 0, 0, 0, 0xffff, 0, 0), 96),
    (Ipv6Addr::new(0, 0, 0, 0, 0xffff, 0, 0, 0), 96),
    (Ipv6Addr::new(0x64, 0xff9b, 0, 0, 0, 0, 0, 0), 96),
];

/// Whether anybody's document may name it.
pub(crate) fn is_public(address: IpAddr) -> bool {
    match address {
        IpAddr::V4(address) => !V4.iter().any(|range| is_in_v4(address, *range)),
        IpAddr::V6(address) => {
            is_in_v6(address, V6_GLOBAL) && !V6.iter().any(|range| is_in_v6(address, *range))
        }
    }
}

/// Whether it is link-local or tells machines of a cloud their credentials, however it is written. Nothing but its
/// very literal in the configuration leads there.
pub(crate) fn is_of_the_host(address: IpAddr) -> bool {
    match address {
        IpAddr::V4(address) => is_in_v4(address, V4_LINK_LOCAL),
        IpAddr::V6(address) => {
            is_in_v6(address, V6_LINK_LOCAL)
                || address == V6_METADATA
                || carried(address).is_some_and(|inner| is_in_v4(inner, V4_LINK_LOCAL))
        }
    }
}

fn carried(address: Ipv6Addr) -> Option<Ipv4Addr> {
    let [.., a, b, c, d] = address.octets();
    let carries = V6_CARRIERS.iter().any(|range| is_in_v6(address, *range));
    carries.then_some(Ipv4Addr::new(a, b, c, d))
}

fn is_in_v4(address: Ipv4Addr, (start, length): (Ipv4Addr, u32)) -> bool {
    (address.to_bits() ^ start.to_bits()).leading_zeros() >= length
}

fn is_in_v6(address: Ipv6Addr, (start, length): (Ipv6Addr, u32)) -> bool {
    (address.to_bits() ^ start.to_bits()).leading_zeros() >= length
}

#[cfg(test)]
mod tests;
