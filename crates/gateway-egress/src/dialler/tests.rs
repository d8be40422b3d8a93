use std::{
    io,
    net::{IpAddr, Ipv4Addr, Ipv6Addr},
    sync::Mutex,
};

use async_trait::async_trait;
use proptest::prelude::*;

use super::*;
use crate::address::is_public;

/// Answers look-ups in turn, the last one for ever.
struct Turns(Mutex<(usize, Vec<Vec<IpAddr>>)>);

impl Turns {
    fn new(turns: Vec<Vec<IpAddr>>) -> Arc<Self> {
        Arc::new(Self(Mutex::new((0, turns))))
    }

    fn count(&self) -> usize {
        self.0.lock().unwrap().0
    }
}

#[async_trait]
impl Resolver for Turns {
    async fn resolve(&self, _: &str) -> io::Result<Vec<IpAddr>> {
        let (count, turns) = &mut *self.0.lock().unwrap();
        *count += 1;
        turns.get(*count - 1).or_else(|| turns.last()).cloned().ok_or_else(|| io::ErrorKind::NotFound.into())
    }
}

fn dialler(named: Named, resolver: Arc<Turns>) -> Dialler {
    Dialler::new(named, Authorities::default(), resolver, Duration::from_secs(1))
}

fn addresses(named: Named, url: &str, resolver: &Arc<Turns>) -> Result<Vec<SocketAddr>, ConnectError> {
    let runtime = tokio::runtime::Builder::new_current_thread().build().unwrap();
    runtime.block_on(dialler(named, Arc::clone(resolver)).addresses(&url.parse().unwrap()))
}

fn at(texts: &[&str]) -> Vec<IpAddr> {
    texts.iter().map(|text| text.parse().unwrap()).collect()
}

const REFUSED: ConnectError = ConnectError::Refused(NOT_ADMITTED);

#[test]
fn of_a_mixed_answer_only_what_may_be_reached_is_dialled() {
    let check = |named, found: &[&str], expected: Result<&[&str], ConnectError>| {
        let made = addresses(named, "https://a.example:8443/", &Turns::new(vec![at(found)]));
        let expected = expected.map(|kept| {
            at(kept).into_iter().map(|address| SocketAddr::new(address, 8443)).collect::<Vec<_>>()
        });
        assert_eq!(made, expected, "{found:?}");
    };
    check(Named::ByDocument, &["10.0.0.1", "8.8.8.8", "::1", "8.8.4.4"], Ok(&["8.8.8.8", "8.8.4.4"]));
    check(Named::ByDocument, &["10.0.0.1", "::1"], Err(REFUSED));
    check(Named::ByDocument, &[], Err(ConnectError::Unresolved));
    check(Named::ByOperator, &["169.254.169.254", "10.0.0.1"], Ok(&["10.0.0.1"]));
    check(Named::ByOperator, &["fe80::1"], Err(REFUSED));
    check(Named::ByOperator, &[], Err(ConnectError::Unresolved));
    check(Named::ByOperator, &["10.0.0.1"; 17], Ok(&["10.0.0.1"; 16]));
}

#[test]
fn a_name_is_resolved_once_for_each_connection_and_looked_at_each_time() {
    let turns = Turns::new(vec![at(&["8.8.8.8"]), at(&["127.0.0.1"])]);
    let kept = addresses(Named::ByDocument, "https://a.example/", &turns);
    assert_eq!(kept, Ok(vec!["8.8.8.8:443".parse().unwrap()]));
    assert_eq!(turns.count(), 1);
    assert_eq!(addresses(Named::ByDocument, "https://a.example/", &turns), Err(REFUSED));
    assert_eq!(turns.count(), 2);
}

#[test]
fn an_address_needs_no_look_up() {
    let turns = Turns::new(Vec::new());
    let kept = addresses(Named::ByDocument, "https://[2606:4700::1]/", &turns);
    assert_eq!(kept, Ok(vec!["[2606:4700::1]:443".parse().unwrap()]));
    assert_eq!(addresses(Named::ByDocument, "https://[::1]/", &turns), Err(REFUSED));
    assert_eq!(turns.count(), 0);
    assert_eq!(addresses(Named::ByOperator, "https://nowhere/", &turns), Err(ConnectError::Unresolved));
}

#[test]
fn what_needs_no_look_up_is_refused_beforehand() {
    let check = |url: &str, expected: Result<(), EgressError>| {
        let dialler = dialler(Named::ByDocument, Turns::new(Vec::new()));
        assert_eq!(dialler.check(&url.parse().unwrap()), expected, "{url}");
    };
    check("https://8.8.8.8/", Ok(()));
    check("https://a.example/", Ok(()));
    check("https://10.0.0.1/", Err(NOT_ADMITTED));
    check("http://8.8.8.8/", Err(EgressError::Refused { reason: "not https" }));
    check("gopher://8.8.8.8/", Err(EgressError::Refused { reason: "neither http nor https" }));
}

/// Any address, the special ones more often than chance would have it.
fn any_address() -> impl Strategy<Value = IpAddr> {
    let special = prop::sample::select(vec![
        0x0000_0000_u32,
        0x0a00_0000,
        0x6440_0000,
        0x7f00_0000,
        0xa9fe_0000,
        0xac10_0000,
        0xc000_0200,
        0xc0a8_0000,
        0xc612_0000,
        0xe000_0000,
        0xf000_0000,
        0xffff_ffff,
    ]);
    let near = (special, any::<u16>()).prop_map(|(start, more)| start | u32::from(more));
    let v4 = prop_oneof![any::<u32>(), near].prop_map(Ipv4Addr::from_bits).boxed();
    let carriers = prop::sample::select(vec![0_u128, 0xffff_0000_0000, 0x64_ff9b << 96, 0x2002 << 112]);
    let carried = (carriers, v4.clone()).prop_map(|(carrier, inner)| carrier | u128::from(inner.to_bits()));
    let starts = prop::sample::select(vec![0xfe80_u128, 0xfc00, 0xfec0, 0xff00, 0x2001, 0x3fff, 0x2606]);
    let ranged = (starts, any::<u128>()).prop_map(|(start, rest)| (start << 112) | (rest >> 16));
    let v6 = prop_oneof![any::<u128>(), carried, ranged].prop_map(Ipv6Addr::from_bits);
    prop_oneof![v4.prop_map(IpAddr::V4), v6.prop_map(IpAddr::V6)]
}

proptest! {
    #[test]
    fn no_address_of_the_table_is_dialled_for_a_document(
        found in prop::collection::vec(any_address(), 0..8),
    ) {
        let made = addresses(Named::ByDocument, "https://a.example/", &Turns::new(vec![found.clone()]));
        let public: Vec<_> = found.iter().copied().filter(|address| is_public(*address)).collect();
        let kept: Vec<_> = made.unwrap_or_default().iter().map(SocketAddr::ip).collect();
        prop_assert!(kept.iter().all(|address| is_public_to_std(*address)), "{kept:?}");
        prop_assert_eq!(kept, public);
    }

    #[test]
    fn an_address_in_a_url_is_dialled_as_it_is_or_not_at_all(address in any_address()) {
        let url = format!("https://{}/", SocketAddr::new(address, 9));
        let made = addresses(Named::ByDocument, &url, &Turns::new(Vec::new()));
        let expected = if is_public(address) { Ok(vec![SocketAddr::new(address, 9)]) } else { Err(REFUSED) };
        prop_assert_eq!(made, expected);
    }
}

/// What the standard library knows of it, which is less, but was written by others.
fn is_public_to_std(address: IpAddr) -> bool {
    let v4 = |address: Ipv4Addr| {
        !(address.is_private()
            || address.is_loopback()
            || address.is_link_local()
            || address.is_broadcast()
            || address.is_documentation()
            || address.is_multicast()
            || address.is_unspecified())
    };
    match address {
        IpAddr::V4(address) => v4(address),
        IpAddr::V6(address) => {
            !(address.is_loopback()
                || address.is_unspecified()
                || address.is_multicast()
                || address.is_unique_local()
                || address.is_unicast_link_local()
                || address.to_ipv4().is_some())
        }
    }
}
