//! Configurations that cannot work.

use std::{sync::Arc, time::Duration};

use gateway_auth::{
    Algorithm, Audiences, Check, ConfigError, EndpointAuth, IntrospectionConfig, IssuerConfig, JwtConfig,
    KeySource, Verifier, VerifierConfig,
};
use gateway_domain::View;
use gateway_egress::Fetch;

use crate::server::{RESOURCE, Servers, at_url, by_keys};

const AS: &str = "https://as";
const KEYS: &str = "https://as/keys";

fn start(issuers: Vec<IssuerConfig>) -> Result<Verifier, ConfigError> {
    let fetch: Arc<dyn Fetch> = Servers::new([]);
    let config = VerifierConfig { issuers, ..VerifierConfig::default() };
    let checked = config.check();
    let started = Verifier::start(config, &fetch);
    assert_eq!(checked.as_ref().err(), started.as_ref().err(), "it can be known before");
    started
}

fn jwt(change: impl FnOnce(&mut JwtConfig)) -> IssuerConfig {
    let mut keys = JwtConfig::new(KeySource::Url(KEYS.into()));
    change(&mut keys);
    by_keys(AS, keys)
}

fn asked(issuer: &str, change: impl FnOnce(&mut IntrospectionConfig)) -> IssuerConfig {
    let mut asked = IntrospectionConfig::new("https://as/ask", EndpointAuth::Bearer("x".into()));
    change(&mut asked);
    IssuerConfig::new(issuer, Audiences::general([RESOURCE]), Check::Introspection(asked))
}

fn audiences(audiences: Audiences) -> IssuerConfig {
    IssuerConfig { audiences, ..at_url(AS, KEYS) }
}

fn all_views(own: Vec<String>) -> Audiences {
    Audiences { general: vec![], views: vec![(View::All, own)] }
}

#[tokio::test]
async fn what_cannot_work_is_refused_with_the_setting_that_is_wrong() {
    let skew = |seconds| IssuerConfig { skew: Duration::from_secs(seconds), ..at_url(AS, KEYS) };
    let keys = |source| jwt(|jwt| jwt.keys = source);
    let basic = |secret: &str| EndpointAuth::Basic { id: "a\nb".into(), secret: secret.into() };
    let discovery = |metadata: Option<&str>| KeySource::Discovery { metadata: metadata.map(Into::into) };
    let rows: Vec<(Vec<IssuerConfig>, Option<&str>)> = vec![
        (vec![], None),
        (vec![at_url(AS, KEYS), at_url("https://as/", KEYS), asked("https://b", |_| {})], None),
        (vec![at_url("", KEYS)], Some("must have a name")),
        (vec![at_url(AS, KEYS), at_url(AS, "https://as/others")], Some("stand once")),
        (vec![audiences(Audiences::default())], Some("at least one audience")),
        (vec![audiences(all_views(vec![]))], Some("at least one audience")),
        (vec![audiences(all_views(vec![RESOURCE.into()]))], None),
        (vec![audiences(all_views(vec![String::new()]))], Some("none that is empty")),
        (vec![audiences(Audiences::general([RESOURCE, ""]))], Some("none that is empty")),
        (vec![skew(60)], None),
        (vec![skew(61)], Some("61s; at most 60 s")),
        (
            vec![IssuerConfig { max_age: Some(Duration::ZERO), ..at_url(AS, KEYS) }],
            Some("zero: the maximum age"),
        ),
        (vec![jwt(|jwt| jwt.algorithms = vec![])], Some("at least one algorithm")),
        (vec![jwt(|jwt| jwt.keep = Duration::ZERO)], Some("zero: the time that keys are kept")),
        (vec![keys(KeySource::Url("/keys".into()))], Some("for its key set")),
        (vec![keys(KeySource::File("/nowhere".into()))], None),
        (vec![keys(discovery(None))], None),
        (vec![by_keys("accounts", JwtConfig::new(discovery(None)))], Some("looked for at the issuer's")),
        (vec![by_keys("accounts", JwtConfig::new(discovery(Some("https://as/meta"))))], None),
        (vec![keys(discovery(Some("meta")))], Some("for its metadata")),
        (vec![asked(AS, |asked| asked.endpoint = "ask".into())], Some("introspection endpoint")),
        (vec![asked(AS, |asked| asked.concurrency = 0)], Some("zero: the questions at once")),
        (vec![asked(AS, |asked| asked.concurrency = usize::MAX)], None),
        (vec![asked(AS, |asked| asked.timeout = Duration::ZERO)], Some("zero: the time for an answer")),
        (
            vec![asked(AS, |asked| asked.auth = EndpointAuth::Bearer("a\nb".into()))],
            Some("no header can hold"),
        ),
        (vec![asked(AS, |asked| asked.auth = basic("c\nd"))], None),
        (vec![asked(AS, |_| {}), asked("https://b", |_| {})], Some("second one with introspection")),
    ];
    for (number, (issuers, expected)) in rows.into_iter().enumerate() {
        let found = start(issuers).err().map(|error| error.to_string());
        match (&found, expected) {
            (Some(found), Some(part)) => assert!(found.contains(part), "row {number}: {found}"),
            (None, None) => {}
            _ => panic!("row {number}: {found:?}"),
        }
    }
}

#[test]
fn algorithms_are_known_by_their_exact_names() {
    for algorithm in Algorithm::ALL {
        assert_eq!(Algorithm::named(algorithm.name()), Some(algorithm));
        assert_eq!(Algorithm::named(&format!("{} ", algorithm.name())), None);
    }
    let names = Algorithm::DEFAULT.map(Algorithm::name);
    assert_eq!(names, ["RS256", "PS256", "ES256", "EdDSA"]);
    for name in ["none", "HS256", "HS384", "HS512", "rs256", "ES256K", "ES512", ""] {
        assert_eq!(Algorithm::named(name), None, "{name}");
    }
}
