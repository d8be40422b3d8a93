use super::*;

fn at(text: &str) -> IpAddr {
    text.parse().unwrap()
}

/// Each range by its first and last address, and the addresses before and behind it, where those are public.
#[test]
fn the_table_ends_where_each_range_ends() {
    for (before, first, last, behind) in [
        (None, "0.0.0.0", "0.255.255.255", Some("1.0.0.0")),
        (Some("9.255.255.255"), "10.0.0.0", "10.255.255.255", Some("11.0.0.0")),
        (Some("100.63.255.255"), "100.64.0.0", "100.127.255.255", Some("100.128.0.0")),
        (Some("126.255.255.255"), "127.0.0.0", "127.255.255.255", Some("128.0.0.0")),
        (Some("169.253.255.255"), "169.254.0.0", "169.254.255.255", Some("169.255.0.0")),
        (Some("172.15.255.255"), "172.16.0.0", "172.31.255.255", Some("172.32.0.0")),
        (Some("191.255.255.255"), "192.0.0.0", "192.0.0.255", Some("192.0.1.0")),
        (Some("192.0.1.255"), "192.0.2.0", "192.0.2.255", Some("192.0.3.0")),
        (Some("192.88.98.255"), "192.88.99.0", "192.88.99.255", Some("192.88.100.0")),
        (Some("192.167.255.255"), "192.168.0.0", "192.168.255.255", Some("192.169.0.0")),
        (Some("198.17.255.255"), "198.18.0.0", "198.19.255.255", Some("198.20.0.0")),
        (Some("198.51.99.255"), "198.51.100.0", "198.51.100.255", Some("198.51.101.0")),
        (Some("203.0.112.255"), "203.0.113.0", "203.0.113.255", Some("203.0.114.0")),
        (Some("223.255.255.255"), "224.0.0.0", "239.255.255.255", None),
        (None, "240.0.0.0", "255.255.255.255", None),
        (None, "::", "1fff:ffff:ffff:ffff:ffff:ffff:ffff:ffff", Some("2000::")),
        (Some("2000:ffff::"), "2001::", "2001:1ff:ffff:ffff:ffff:ffff:ffff:ffff", Some("2001:200::")),
        (Some("2001:db7:ffff::"), "2001:db8::", "2001:db8:ffff::ffff", Some("2001:db9::")),
        (Some("2001:ffff::"), "2002::", "2002:ffff:ffff:ffff:ffff:ffff:ffff:ffff", Some("2003::")),
        (Some("3ffe:ffff::"), "3fff::", "3fff:fff:ffff:ffff:ffff:ffff:ffff:ffff", Some("3fff:1000::")),
        (
            Some("3fff:ffff:ffff:ffff:ffff:ffff:ffff:ffff"),
            "4000::",
            "ffff:ffff:ffff:ffff:ffff:ffff:ffff:ffff",
            None,
        ),
    ] {
        assert!(!is_public(at(first)), "{first}");
        assert!(!is_public(at(last)), "{last}");
        for outside in [before, behind].into_iter().flatten() {
            assert!(is_public(at(outside)), "{outside}");
        }
    }
}

#[test]
fn what_stands_for_another_address_is_not_public() {
    for text in [
        "::1",
        "::127.0.0.1",
        "::8.8.8.8",
        "::ffff:127.0.0.1",
        "::ffff:8.8.8.8",
        "::ffff:0:127.0.0.1",
        "64:ff9b::127.0.0.1",
        "64:ff9b::8.8.8.8",
        "64:ff9b:1::1",
        "100::1",
        "2001::7f00:1",
        "2001:0:4136:e378:8000:63bf:3fff:fdd2",
        "2002:7f00:1::",
        "2002:808:808::1",
        "5f00::1",
        "fc00::1",
        "fd00::1",
        "fdff:ffff::1",
        "fe80::1",
        "febf::1",
        "fec0::1",
        "ff02::1",
    ] {
        assert!(!is_public(at(text)), "{text}");
    }
    for text in ["8.8.8.8", "1.1.1.1", "2606:4700::1111", "2a00:1450:4001::1", "2400:cb00::1"] {
        assert!(is_public(at(text)), "{text}");
    }
}

#[test]
fn addresses_of_the_host_are_known_however_they_are_written() {
    for (text, expected) in [
        ("169.254.169.254", true),
        ("169.254.0.0", true),
        ("169.254.255.255", true),
        ("169.253.255.255", false),
        ("169.255.0.0", false),
        ("127.0.0.1", false),
        ("10.0.0.1", false),
        ("fe80::1", true),
        ("febf:ffff::1", true),
        ("fec0::1", false),
        ("fe7f:ffff::1", false),
        ("fd00:ec2::254", true),
        ("fd00:ec2::253", false),
        ("::ffff:169.254.169.254", true),
        ("::ffff:0:169.254.169.254", true),
        ("::169.254.169.254", true),
        ("64:ff9b::169.254.169.254", true),
        ("64:ff9b::10.0.0.1", false),
        ("::ffff:127.0.0.1", false),
        ("2001:db8::169.254.169.254", false),
    ] {
        assert_eq!(is_of_the_host(at(text)), expected, "{text}");
    }
}
