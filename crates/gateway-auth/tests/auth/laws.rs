//! Nothing that is not exactly a good token passes.

use std::sync::{Arc, LazyLock};

use gateway_auth::Verifier;
use proptest::prelude::*;
use tokio::runtime::{Builder, Runtime};

use crate::{
    forge::{P256, key_set, token},
    server::{Reply, Servers, at_url, code, config, ready},
};

/// A paused runtime whose key source answers at once, and a good token.
struct World {
    runtime: Runtime,
    verifier: Verifier,
    good: String,
}

static WORLD: LazyLock<World> = LazyLock::new(|| {
    let runtime = Builder::new_current_thread().enable_time().start_paused(true).build().unwrap();
    let servers: Arc<Servers> =
        Servers::new([("https://as/keys", Reply::ok(key_set(&[P256.jwk(r#""kid":"ec""#)])))]);
    let verifier = runtime.block_on(async {
        let verifier = servers.start(config([at_url("https://as", "https://as/keys")]));
        ready(&verifier).await;
        verifier
    });
    World { runtime, verifier, good: token("https://as").sign(&P256) }
});

fn verdict(token: &str) -> &'static str {
    WORLD.runtime.block_on(code(&WORLD.verifier, token))
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 2000, ..ProptestConfig::default() })]

    #[test]
    fn a_changed_token_never_passes(at in any::<prop::sample::Index>(), with in any::<char>()) {
        let place = at.index(WORLD.good.len());
        let changed = format!("{}{with}{}", &WORLD.good[..place], &WORLD.good[place + 1..]);
        prop_assert_eq!(verdict(&changed) == "ok", changed == WORLD.good);
    }

    #[test]
    fn a_token_with_something_more_or_less_never_passes(
        from in any::<prop::sample::Index>(), to in any::<prop::sample::Index>(), put in "[A-Za-z0-9_.=-]{0,4}",
    ) {
        let (from, to) = (from.index(WORLD.good.len()), to.index(WORLD.good.len()));
        let changed = format!("{}{put}{}", &WORLD.good[..from.min(to)], &WORLD.good[from.max(to)..]);
        prop_assert_eq!(verdict(&changed) == "ok", changed == WORLD.good);
    }

    #[test]
    fn arbitrary_text_never_passes(text in any::<String>()) {
        prop_assert_ne!(verdict(&text), "ok");
    }

    #[test]
    fn arbitrary_parts_never_pass(header in any::<Vec<u8>>(), claims in any::<Vec<u8>>(), signature in any::<[u8; 32]>()) {
        let [header, claims, signature] = [&header[..], &claims, &signature].map(crate::forge::b64);
        prop_assert_ne!(verdict(&format!("{header}.{claims}.{signature}")), "ok");
    }

    #[test]
    fn arbitrary_claims_signed_by_nobody_never_pass(sub in "[a-z]{1,8}", signature in prop::collection::vec(any::<u8>(), 64)) {
        let message = token("https://as").claim("sub", format!("{sub:?}")).message();
        prop_assert_eq!(verdict(&format!("{message}.{}", crate::forge::b64(&signature))), "signature");
    }
}

#[test]
fn the_token_that_is_changed_is_good() {
    assert_eq!(verdict(&WORLD.good), "ok");
}
