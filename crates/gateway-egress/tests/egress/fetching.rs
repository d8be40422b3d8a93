use std::time::Duration;

use bytes::Bytes;
use gateway_domain::Secret;
use gateway_egress::{Bounds, Egress, EgressConfig, EgressError, Fetch, Identity, Named, Trust};
use http::Request;
use tokio::{io::AsyncReadExt, net::TcpListener};

use crate::support::{Canary, Names, egress, get};

#[tokio::test]
async fn the_host_stays_the_name() {
    let canary = Canary::at("127.0.0.1:0").await;
    let egress = egress(Names::knowing(&[("a.example", &[&["127.0.0.1"]])]), &[]);
    let url = format!("http://a.example:{}/", canary.port());
    let request = Request::get(&url).header("host", "other.example").body(Bytes::new()).unwrap();
    let bounds = Bounds { bytes: 2, time: Duration::from_secs(5) };
    let answer = egress.fetch(request, Named::ByOperator, bounds).await.unwrap();
    assert_eq!(answer.headers["x-host"], format!("a.example:{}", canary.port()));
    assert_eq!((answer.status.as_u16(), answer.body), (200, Bytes::from_static(b"hi")));
}

#[tokio::test]
async fn an_answer_that_is_too_large_is_not_read() {
    let canary = Canary::at("127.0.0.1:0").await;
    let egress = egress(Names::knowing(&[]), &[]);
    let request = Request::get(format!("http://{}/", canary.addr)).body(Bytes::new()).unwrap();
    let bounds = Bounds { bytes: 1, time: Duration::from_secs(5) };
    let made = egress.fetch(request, Named::ByOperator, bounds).await;
    assert_eq!(made.unwrap_err(), EgressError::TooLarge { limit: 1 });
}

#[tokio::test]
async fn an_answer_that_does_not_end_ends_with_its_time() {
    let head = "HTTP/1.1 200 OK\r\ncontent-length: 3\r\n";
    let canary = Canary::answering("127.0.0.1:0", head, "hi").await;
    let egress = egress(Names::knowing(&[]), &[]);
    let request = Request::get(format!("http://{}/", canary.addr)).body(Bytes::new()).unwrap();
    let time = Duration::from_millis(200);
    let made = egress.fetch(request, Named::ByOperator, Bounds { bytes: 9, time }).await;
    assert_eq!(made.unwrap_err(), EgressError::TimedOut { after: time });
}

#[tokio::test]
async fn an_answer_that_breaks_off_is_none() {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let url = format!("http://{}/", listener.local_addr().unwrap());
    tokio::spawn(async move {
        let (mut stream, _) = listener.accept().await.unwrap();
        let mut text = [0; 16];
        stream.read_exact(&mut text).await.unwrap();
        let answer = b"HTTP/1.1 200 OK\r\ncontent-length: 3\r\n\r\nhi";
        tokio::io::AsyncWriteExt::write_all(&mut stream, answer).await.unwrap();
    });
    let made = get(&egress(Names::knowing(&[]), &[]), &url, Named::ByOperator).await;
    assert_eq!(made.unwrap_err(), EgressError::Unreachable);
}

#[test]
fn unusable_certificates_are_the_operators_to_mend() {
    let check = |change: fn(&mut EgressConfig), expected: &str| {
        let mut config = EgressConfig::default();
        change(&mut config);
        let told = Egress::new(&config).unwrap_err();
        assert!(told.contains(expected), "{told}");
        assert!(!told.contains("s3cret"), "{told}");
    };
    check(|config| config.ca_pem = Some(b"x".to_vec()), "the configured CA: holds no certificate");
    check(|config| config.ca_file = Some("/no/such".into()), "cannot read /no/such");
    let identity = Identity { chain_pem: Vec::new(), key_pem: Secret::new("s3cret") };
    assert!(!format!("{identity:?}").contains("s3cret"));
    check(
        |config| {
            config.identity = Some(Identity { chain_pem: Vec::new(), key_pem: Secret::new("s3cret") });
        },
        "the key of the client certificate is no valid PEM",
    );
}

#[test]
fn certificates_can_be_checked_without_those_of_the_system() {
    assert_eq!(Trust::default().check(), Ok(()));
    let missing = Trust { ca_file: Some("/no/such".into()), ..Trust::default() };
    assert!(missing.check().unwrap_err().contains("cannot read /no/such"));
    let empty = Trust { ca_pem: Some(b"x".to_vec()), ..Trust::default() };
    assert_eq!(empty.check(), Err("the configured CA: holds no certificate".into()));
    let good = Trust { ca_pem: Some(AUTHORITY.into()), ..Trust::default() };
    assert_eq!(good.check(), Ok(()));
}

/// A certificate of nobody's, whose key was thrown away.
const AUTHORITY: &[u8] = b"\
-----BEGIN CERTIFICATE-----\n\
MIIBjjCCATWgAwIBAgIUbdlzRGQI+WyRvsgCXXXyoXIzUcAwCgYIKoZIzj0EAwIw\n\
HDEaMBgGA1UEAwwRYXV0aG9yaXR5LmV4YW1wbGUwIBcNMjYxMjAxMDcyMzQ5WhgP\n\
MjEyNjExMDcwNzIzNDlaMBwxGjAYBgNVBAMMEWF1dGhvcml0eS5leGFtcGxlMFkw\n\
EwYHKoZIzj0CAQYIKoZIzj0DAQcDQgAEgcFh853V6odrxkiPZiIgZorXsV57p8T9\n\
2xWWpsbwuNECRdkxC8q/IkQNfG+Ad5VxSwZIqfOvqJLzKJ0QBiJUtaNTMFEwHQYD\n\
VR0OBBYEFGezU+E+lcxKOeF6Py2MubXA5YA5MB8GA1UdIwQYMBaAFGezU+E+lcxK\n\
OeF6Py2MubXA5YA5MA8GA1UdEwEB/wQFMAMBAf8wCgYIKoZIzj0EAwIDRwAwRAIg\n\
Q523HWgWqny51KESZHl2swQWWN3oiz4pp1UlTRxzfeMCIDatGi4p6xqmQ/BQwWB2\n\
MleLqSG+FKBTjEMUFYXlejwz\n\
-----END CERTIFICATE-----\n";
