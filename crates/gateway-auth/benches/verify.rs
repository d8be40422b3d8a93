//! What a token costs: one that is known (under 2 µs), and one that is seen for the first time.
#![expect(clippy::unwrap_used, clippy::panic, reason = "a bench has no input but its own")]

#[path = "../tests/auth/forge.rs"]
#[expect(dead_code, reason = "the tests use more of it")]
mod forge;

use std::sync::Arc;

use async_trait::async_trait;
use bytes::Bytes;
use divan::{Bencher, black_box};
use gateway_auth::{Audiences, Check, IssuerConfig, JwtConfig, KeySource, Verifier, VerifierConfig};
use gateway_domain::{TokenVerifier as _, View};
use gateway_egress::{Answer, Bounds, EgressError, Fetch, Named};
use http::{HeaderMap, Request, StatusCode};
use tokio::runtime::{Builder, Runtime};

use crate::forge::{P256, RSA, Signer, clock, key_set, token};

fn main() {
    divan::main();
}

/// Always the same key set.
struct Keys(String);

#[async_trait]
impl Fetch for Keys {
    async fn fetch(&self, _: Request<Bytes>, _: Named, _: Bounds) -> Result<Answer, EgressError> {
        Ok(Answer { status: StatusCode::OK, headers: HeaderMap::new(), body: self.0.clone().into() })
    }
}

/// A verifier that remembers so many tokens.
fn ready(remembered: usize) -> (Runtime, Verifier) {
    let runtime = Builder::new_current_thread().enable_all().build().unwrap();
    let keys = key_set(&[P256.jwk(r#""kid":"ec""#), RSA.jwk(r#""kid":"rsa""#)]);
    let fetch: Arc<dyn Fetch> = Arc::new(Keys(keys));
    let check = Check::Keys(JwtConfig::new(KeySource::Url("https://as/keys".into())));
    let verifier = runtime.block_on(async {
        let issuers = vec![IssuerConfig::new("https://as", Audiences::general(["https://gw/mcp"]), check)];
        let remembered = gateway_auth::Remembered(remembered);
        let config = VerifierConfig { issuers, clock: clock().0, remembered, ..VerifierConfig::default() };
        let verifier = Verifier::start(config, &fetch).unwrap();
        verifier.ready().await;
        verifier
    });
    (runtime, verifier)
}

#[divan::bench]
fn known(bencher: Bencher<'_, '_>) {
    let (runtime, verifier) = ready(10_000);
    let token = token("https://as").sign(&P256);
    bencher.bench_local(|| runtime.block_on(verifier.verify(black_box(&token), &View::All)).unwrap());
}

fn first(bencher: Bencher<'_, '_>, algorithm: &str, kid: &str, signer: &Signer) {
    let (runtime, verifier) = ready(2);
    let named = token("https://as").header("alg", format!("{algorithm:?}")).header("kid", format!("{kid:?}"));
    let mut tokens: Vec<_> =
        (0..4).map(|number| named.clone().claim("jti", format!("\"{number}\"")).sign(signer)).collect();
    bencher.bench_local(|| {
        tokens.rotate_left(1);
        runtime.block_on(verifier.verify(black_box(&tokens[0]), &View::All)).unwrap()
    });
}

#[divan::bench]
fn first_by_p256(bencher: Bencher<'_, '_>) {
    first(bencher, "ES256", "ec", &P256);
}

#[divan::bench]
fn first_by_rsa(bencher: Bencher<'_, '_>) {
    first(bencher, "RS256", "rsa", &RSA);
}
