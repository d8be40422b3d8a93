use gateway_egress::{Connector, ConnectorConfig, EgressError, Named, Schemes, read_url};
use tower_service::Service as _;

use crate::support::{Canary, Names, egress, get};

const NAMES: [(&str, &[&[&str]]); 11] = [
    ("private.example", &[&["10.0.0.1"]]),
    ("loop.example", &[&["127.0.0.1"]]),
    ("loop6.example", &[&["::1"]]),
    ("mapped.example", &[&["::ffff:127.0.0.1"]]),
    ("nat.example", &[&["64:ff9b::7f00:1"]]),
    ("any.example", &[&["0.0.0.0"]]),
    ("meta.example", &[&["169.254.169.254"]]),
    ("many.example", &[&["127.0.0.1", "::1", "10.0.0.1", "0.0.0.0"]]),
    ("127.0.0.1.nip.example", &[&["127.0.0.1"]]),
    ("localhost.evil.example", &[&["127.0.0.1"]]),
    ("empty.example", &[&[]]),
];

/// Hosts that lead to this machine or one beside it, or would if somebody were careless.
const HOSTS: [&str; 68] = [
    "127.0.0.1",
    "127.0.0.2",
    "127.255.255.254",
    "127.1",
    "127.0.1",
    "0x7f.1",
    "0x7f.0x0.0x0.0x1",
    "0x7f000001",
    "0X7F000001",
    "2130706433",
    "017700000001",
    "0177.0.0.1",
    "0177.0.0.01",
    "00000177.0.0.1",
    "127.0.0.0x1",
    "127.0.0.1.",
    "127.1.",
    "0.0.0.0",
    "0",
    "0x0",
    "00",
    "0.0.0.1",
    "localhost",
    "LOCALHOST",
    "localhost.",
    "localhost..",
    "[::1]",
    "[0:0:0:0:0:0:0:1]",
    "[0000:0000:0000:0000:0000:0000:0000:0001]",
    "[::]",
    "[::127.0.0.1]",
    "[::ffff:127.0.0.1]",
    "[::ffff:7f00:1]",
    "[::ffff:0:127.0.0.1]",
    "[64:ff9b::127.0.0.1]",
    "[64:ff9b::7f00:1]",
    "[64:ff9b:1::7f00:1]",
    "[2002:7f00:1::]",
    "[2001::7f00:1]",
    "[fd00::1]",
    "[fc00::1]",
    "[fe80::1]",
    "[fec0::1]",
    "[ff02::1]",
    "[2001:db8::1]",
    "[fd00:ec2::254]",
    "[::ffff:169.254.169.254]",
    "169.254.169.254",
    "2852039166",
    "0xa9fea9fe",
    "10.0.0.1",
    "172.16.0.1",
    "192.168.0.1",
    "100.64.0.1",
    "192.0.0.192",
    "192.0.2.1",
    "198.18.0.1",
    "198.51.100.1",
    "203.0.113.1",
    "224.0.0.1",
    "240.0.0.1",
    "255.255.255.255",
    "private.example",
    "loop.example",
    "mapped.example",
    "many.example",
    "127.0.0.1.nip.example",
    "localhost.evil.example",
];

#[tokio::test]
async fn a_document_leads_to_no_address_that_is_not_public() {
    let canary = Canary::at("0.0.0.0:0").await;
    let port = canary.port();
    let canary6 = Canary::at(&format!("[::1]:{port}")).await;
    let egress = egress(Names::knowing(&NAMES), &[]);
    for host in HOSTS.into_iter().chain(["loop6.example", "nat.example", "any.example", "meta.example"]) {
        for scheme in ["https", "http"] {
            let url = format!("{scheme}://{host}:{port}/");
            let made = get(&egress, &url, Named::ByDocument).await;
            assert!(matches!(made, Err(EgressError::Refused { .. })), "{url}: {made:?}");
        }
    }
    let made = get(&egress, &format!("https://empty.example:{port}/"), Named::ByDocument).await;
    assert_eq!(made.unwrap_err(), EgressError::Unreachable);
    assert_eq!((canary.connections(), canary6.connections()), (0, 0));

    for url in [format!("http://127.0.0.1:{port}/"), format!("http://loop.example:{port}/")] {
        get(&egress, &url, Named::ByOperator).await.unwrap();
    }
    get(&egress, &format!("http://[::1]:{port}/"), Named::ByOperator).await.unwrap();
    assert_eq!((canary.connections(), canary6.connections()), (2, 1), "the canaries can be reached at all");
}

#[tokio::test]
async fn urls_that_nothing_is_fetched_from_are_refused_before_anything_is_resolved() {
    let canary = Canary::at("127.0.0.1:0").await;
    let port = canary.port();
    let names = Names::knowing(&NAMES);
    let operator = format!("http://loop.example:{port}/");
    let egress = egress(names.clone(), &[&operator]);
    for url in [
        format!("ftp://loop.example:{port}/"),
        format!("gopher://loop.example:{port}/_GET"),
        format!("file://loop.example:{port}/etc/passwd"),
        format!("ws://loop.example:{port}/"),
        format!("http://u:p@loop.example:{port}/"),
        format!("http://public.example@loop.example:{port}/"),
    ] {
        for named in [Named::ByOperator, Named::ByDocument] {
            let made = get(&egress, &url, named).await;
            assert!(matches!(made, Err(EgressError::Refused { .. })), "{url}: {made:?}");
            assert!(read_url(&url).is_err(), "{url}");
        }
    }
    for url in [
        "file:///etc/passwd",
        "data:text/plain,x",
        "http://loop.example/#x",
        "http://loop%2eexample/",
        "http://[fe80::1%25lo]/",
    ] {
        assert!(read_url(url).is_err(), "{url}");
    }
    assert_eq!(names.count("loop.example"), 0);
    assert_eq!(canary.connections(), 0);
}

#[tokio::test]
async fn what_the_operator_names_is_reached_and_nothing_beside_it() {
    let (canary, other) = (Canary::at("127.0.0.1:0").await, Canary::at("127.0.0.1:0").await);
    let operator = format!("http://loop.example:{}/x", canary.port());
    let egress = egress(Names::knowing(&NAMES), &[&operator]);
    for (host, port, is_reached) in [
        ("loop.example", canary.port(), true),
        ("LOOP.example", canary.port(), true),
        ("loop.example", other.port(), false),
        ("loop.example.", canary.port(), false),
        ("127.0.0.1", canary.port(), false),
        ("127.0.0.1.nip.example", canary.port(), false),
    ] {
        let made = get(&egress, &format!("http://{host}:{port}/"), Named::ByDocument).await;
        match is_reached {
            true => assert_eq!(made.unwrap().body, "hi", "{host}:{port}"),
            false => assert!(matches!(made, Err(EgressError::Refused { .. })), "{host}:{port}: {made:?}"),
        }
    }
    assert_eq!(other.connections(), 0);
}

#[tokio::test]
async fn only_loopback_is_reached_without_tls() {
    let names = Names::knowing(&[("inside.example", &[&["10.0.0.1", "8.8.8.8"]])]);
    let egress = egress(names, &["http://inside.example/"]);
    let made = get(&egress, "http://inside.example/", Named::ByDocument).await;
    assert!(matches!(made, Err(EgressError::Refused { .. })), "{made:?}");
}

#[tokio::test]
async fn a_name_that_changes_between_two_look_ups_gains_nothing() {
    let first = Canary::at("127.0.0.1:0").await;
    let second = Canary::at(&format!("127.0.0.2:{}", first.port())).await;
    let names = Names::knowing(&[("turning.example", &[&["127.0.0.1"], &["127.0.0.2"]])]);
    let egress = egress(names.clone(), &[]);
    let url = format!("http://turning.example:{}/", first.port());
    get(&egress, &url, Named::ByOperator).await.unwrap();
    assert_eq!((names.count("turning.example"), first.connections(), second.connections()), (1, 1, 0));
}

#[tokio::test]
async fn a_redirect_is_an_answer() {
    let canary = Canary::at("127.0.0.1:0").await;
    let head = format!("HTTP/1.1 302 Found\r\nlocation: http://{}/\r\ncontent-length: 0\r\n", canary.addr);
    let server = Canary::answering("127.0.0.1:0", head.leak(), "").await;
    let egress = egress(Names::knowing(&[]), &[]);
    let answer = get(&egress, &format!("http://{}/", server.addr), Named::ByOperator).await.unwrap();
    assert_eq!((answer.status.as_u16(), canary.connections()), (302, 0));
}

#[tokio::test]
async fn a_connection_is_used_again_under_the_rules_it_was_made_under_only() {
    let canary = Canary::at("127.0.0.1:0").await;
    let url = format!("http://127.0.0.1:{}/", canary.port());
    let egress = egress(Names::knowing(&[]), &[&url]);
    for (named, connections) in [
        (Named::ByOperator, 1),
        (Named::ByOperator, 1),
        (Named::ByDocument, 2),
        (Named::ByDocument, 2),
        (Named::ByOperator, 2),
    ] {
        get(&egress, &url, named).await.unwrap();
        tokio::task::yield_now().await;
        assert_eq!(canary.connections(), connections, "{named:?}");
    }
    let strange = format!("http://localhost:{}/", canary.port());
    assert!(get(&egress, &strange, Named::ByDocument).await.is_err());
}

#[tokio::test]
async fn an_open_port_and_a_closed_one_are_told_alike() {
    let canary = Canary::at("127.0.0.1:0").await;
    let closed = { std::net::TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap().port() };
    let egress = egress(Names::knowing(&NAMES), &[]);
    let told = |named, host: &'static str, port: u16| {
        let egress = &egress;
        async move { get(egress, &format!("https://{host}:{port}/"), named).await.unwrap_err().to_string() }
    };
    for (named, host) in [
        (Named::ByDocument, "127.0.0.1"),
        (Named::ByDocument, "loop.example"),
        // It speaks no TLS.
        (Named::ByOperator, "loop.example"),
    ] {
        assert_eq!(told(named, host, canary.port()).await, told(named, host, closed).await);
    }
}

#[tokio::test]
async fn a_connector_serves_its_schemes_only() {
    let canary = Canary::at("127.0.0.1:0").await;
    let config = |schemes| ConnectorConfig { schemes, ..ConnectorConfig::default() };
    let uri: http::Uri = format!("http://{}/", canary.addr).parse().unwrap();
    // Without any certificate of the system's there is none.
    if let Ok(mut secure) = Connector::new(&config(Schemes::Https)) {
        assert!(secure.call(uri.clone()).await.is_err());
        assert_eq!(canary.connections(), 0);
    }
    for (schemes, connections) in [(Schemes::Http, 1), (Schemes::Any, 2)] {
        let connection = Connector::new(&config(schemes)).unwrap().call(uri.clone()).await.unwrap();
        tokio::time::sleep(std::time::Duration::from_millis(20)).await;
        assert_eq!(canary.connections(), connections);
        drop(connection);
    }
}
