//! The token matrix (security.md T19): how a token is made, and what is said of it.

use std::{sync::Arc, time::Duration};

use gateway_auth::{Algorithm, IssuerConfig, JwtConfig, KeySource, Verifier};
use gateway_domain::RawJson;

use crate::{
    forge::{ED, NOW, P256, P384, RSA, Token, b64, key_set, p256, token},
    server::{Reply, Servers, by_keys, code, config, page, ready},
};

const AS: &str = "https://as";

fn at(issuer: &str) -> IssuerConfig {
    by_keys(issuer, jwt(issuer))
}

fn jwt(issuer: &str) -> JwtConfig {
    JwtConfig::new(KeySource::Url(format!("{issuer}/keys")))
}

/// Issuers with one key, with several, with twins; strict and lenient ones.
async fn verifier() -> (Verifier, Arc<Servers>) {
    let all = [
        RSA.jwk(r#""kid":"rsa""#),
        P256.jwk(r#""kid":"ec","use":"sig","key_ops":["verify"],"alg":"ES256""#),
        ED.jwk(r#""kid":"ed""#),
        P384.jwk(r#""kid":"p384""#),
        RSA.jwk(r#""kid":"enc","use":"enc""#),
        RSA.jwk(r#""kid":"ops","key_ops":["sign"]"#),
        RSA.jwk(r#""kid":"rs","alg":"RS256""#),
        P256.jwk(r#""kid":"private","d":"AAAA""#),
        P256.jwk(r#""kid":"twin""#),
        p256().jwk(r#""kid":"twin""#),
        r#"{"kty":"oct","kid":"oct","k":"c2VjcmV0"}"#.into(),
    ];
    let one = key_set(&[P256.jwk(r#""kid":"ec""#)]);
    let two = key_set(&[P256.jwk(r#""kid":"ec""#), p256().jwk(r#""kid":"ec2""#)]);
    let servers = Servers::new([
        ("https://as/keys", Reply::ok(key_set(&all))),
        ("https://one/keys", Reply::ok(one.clone())),
        ("https://two/keys", Reply::ok(two)),
        ("https://plain/keys", Reply::ok(one.clone())),
        ("https://aged/keys", Reply::ok(one.clone())),
        ("https://wide/keys", Reply::ok(key_set(&[P384.jwk(r#""kid":"p384""#), RSA.jwk(r#""kid":"rsa""#)]))),
    ]);
    let plain = by_keys("https://plain", JwtConfig { accept_jwt_typ: true, ..jwt("https://plain") });
    let aged = IssuerConfig { max_age: Some(Duration::from_secs(600)), ..at("https://aged") };
    let wide = JwtConfig { algorithms: Algorithm::ALL.to_vec(), ..jwt("https://wide") };
    let issuers = [at(AS), at("https://one"), at("https://two"), plain, aged, by_keys("https://wide", wide)];
    let verifier = servers.start(config(issuers));
    ready(&verifier).await;
    (verifier, servers)
}

fn good() -> Token {
    token(AS)
}

fn by(algorithm: &str, kid: &str) -> Token {
    good().header("alg", quoted(algorithm)).header("kid", quoted(kid))
}

fn quoted(text: &str) -> String {
    RawJson::string(text).to_string()
}

fn at_seconds(shift: i64) -> String {
    NOW.saturating_add_signed(shift).to_string()
}

/// A token with one more character in a part, with one less, with a bit turned.
fn with_part(token: &str, place: usize, change: impl Fn(&str) -> String) -> String {
    let change = |(at, part): (usize, &str)| if at == place { change(part) } else { part.to_owned() };
    let parts: Vec<_> = token.split('.').enumerate().map(change).collect();
    parts.join(".")
}

fn signed() -> String {
    good().sign(&P256)
}

/// One row: what it is, the token, what is said of it.
type Row = (&'static str, String, &'static str);

fn good_ones() -> Vec<Row> {
    let wide = |algorithm: &str, kid: &str| {
        token("https://wide").header("alg", quoted(algorithm)).header("kid", quoted(kid))
    };
    vec![
        ("by P-256", signed(), "ok"),
        ("by RSA, RS256", by("RS256", "rsa").sign(&RSA), "ok"),
        ("by RSA, PS256", by("PS256", "rsa").sign(&RSA), "ok"),
        ("by Ed25519", by("EdDSA", "ed").sign(&ED), "ok"),
        ("by RSA, RS384, where allowed", wide("RS384", "rsa").sign(&RSA), "ok"),
        ("by RSA, RS512, where allowed", wide("RS512", "rsa").sign(&RSA), "ok"),
        ("by RSA, PS384, where allowed", wide("PS384", "rsa").sign(&RSA), "ok"),
        ("by RSA, PS512, where allowed", wide("PS512", "rsa").sign(&RSA), "ok"),
        ("by P-384, where allowed", wide("ES384", "p384").sign(&P384), "ok"),
        ("for several", good().claim("aud", r#"["https://other","https://gw/mcp"]"#).sign(&P256), "ok"),
        ("long media type", good().header("typ", r#""application/at+jwt""#).sign(&P256), "ok"),
        ("media type in capitals", good().header("typ", r#""AT+JWT""#).sign(&P256), "ok"),
        ("no kid, one key", token("https://one").without_header("kid").sign(&P256), "ok"),
        ("no kid, one that fits", by("EdDSA", "").without_header("kid").sign(&ED), "ok"),
        ("plain type where allowed", token("https://plain").header("typ", r#""JWT""#).sign(&P256), "ok"),
        ("no type where allowed", token("https://plain").without_header("typ").sign(&P256), "ok"),
        ("a client alone", good().without("sub").claim("client_id", r#""app""#).sign(&P256), "ok"),
        ("the longest subject", good().claim("sub", quoted(&"s".repeat(1024))).sign(&P256), "ok"),
        ("within skew of its end", good().claim("exp", at_seconds(-29)).sign(&P256), "ok"),
        ("within skew of its beginning", good().claim("nbf", at_seconds(30)).sign(&P256), "ok"),
        ("issued within skew", good().claim("iat", at_seconds(30)).sign(&P256), "ok"),
        ("a fraction of a second", good().claim("exp", format!("{}.5", NOW + 1)).sign(&P256), "ok"),
        ("an exponent", good().claim("exp", "2e9").sign(&P256), "ok"),
        ("never issued", good().without("iat").sign(&P256), "ok"),
        ("young enough", token("https://aged").claim("iat", at_seconds(-629)).sign(&P256), "ok"),
        ("it points to keys elsewhere", elsewhere().sign(&P256), "ok"),
        ("scopes in an array", good().claim("scope", r#"["a","b"]"#).sign(&P256), "ok"),
    ]
}

/// Every member that tempts a verifier to take a key from the token.
fn elsewhere() -> Token {
    let own = p256().jwk("");
    good()
        .header("jku", r#""https://evil/keys""#)
        .header("x5u", r#""http://127.0.0.1/cert""#)
        .header("x5c", r#"["AAAA"]"#)
        .header("jwk", own)
}

fn forms() -> Vec<Row> {
    let token = signed();
    let (message, signature) = token.rsplit_once('.').unwrap();
    vec![
        ("nothing", String::new(), "malformed"),
        ("dots", "..".into(), "opaque"),
        ("padding alone", "==".into(), "malformed"),
        ("a word", "secret".into(), "opaque"),
        ("two parts", message.into(), "malformed"),
        ("four parts", format!("{token}.AAAA"), "malformed"),
        ("no signature", format!("{message}."), "signature"),
        ("a header alone", format!("{}.", token.split('.').next().unwrap()), "malformed"),
        ("space", format!("{token} "), "malformed"),
        ("a line break", format!("{message}\n.{signature}"), "malformed"),
        ("a NUL", format!("{token}\0"), "malformed"),
        ("not ASCII", format!("{token}é"), "malformed"),
        ("padded", format!("{token}=="), "malformed"),
        ("the other alphabet", with_part(&token, 2, |part| format!("+/{}", &part[2..])), "malformed"),
        ("stray bits at the end", with_part(&token, 2, stray), "malformed"),
        ("more than 8 KiB", good().claim("x", quoted(&"x".repeat(8192))).sign(&P256), "too_large"),
        ("8 KiB", "e".repeat(8192), "opaque"),
        ("a byte more", "e".repeat(8193), "too_large"),
        ("100 KiB", "e".repeat(100 * 1024), "too_large"),
        ("claims are no JSON", raw(r#"{"alg":"ES256","typ":"at+jwt","kid":"ec"}"#, "hello"), "malformed"),
        ("claims are an array", raw(r#"{"alg":"ES256","typ":"at+jwt","kid":"ec"}"#, "[]"), "malformed"),
        ("a header with more after it", raw(r#"{"alg":"ES256"} {}"#, "{}"), "malformed"),
        ("a header twice the alg", raw(r#"{"alg":"ES256","alg":"none","kid":"ec"}"#, "{}"), "malformed"),
        ("a claim twice", raw(&good().header, r#"{"iss":"https://as","iss":"https://as"}"#), "malformed"),
        ("a claim twice by an escape", raw(&good().header, r#"{"sub":"a","s\u0075b":"b"}"#), "malformed"),
        ("a JWE", format!("{}.AA.AA.AA.AA", b64(br#"{"alg":"dir","enc":"A256GCM"}"#)), "encrypted"),
        ("a JWE in three parts", good().header("enc", r#""A256GCM""#).sign(&P256), "encrypted"),
        ("nested", good().header("cty", r#""JWT""#).sign(&P256), "nested"),
        ("nested, long", good().header("cty", r#""application/jwt""#).sign(&P256), "nested"),
        ("a token as claims", raw(&good().header, &token), "malformed"),
    ]
}

/// The last character of 64 bytes in base64url has four bits that count for nothing.
fn stray(signature: &str) -> String {
    let (rest, last) = signature.split_at(signature.len() - 1);
    let next = match last {
        "A" => "B",
        "Q" => "R",
        "g" => "h",
        _ => "x",
    };
    format!("{rest}{next}")
}

fn raw(header: &str, claims: &str) -> String {
    Token { header: header.into(), claims: claims.into() }.sign(&P256)
}

fn headers() -> Vec<Row> {
    let header = |name: &str, value: &str| good().header(name, value).sign(&P256);
    let alg = |name: &str| by(name, "rsa").sign(&RSA);
    vec![
        ("no algorithm", good().without_header("alg").sign(&P256), "algorithm"),
        ("alg none", header("alg", r#""none""#), "algorithm"),
        ("alg None", header("alg", r#""None""#), "algorithm"),
        (
            "alg NONE without a signature",
            format!("{}.", good().header("alg", r#""NONE""#).message()),
            "algorithm",
        ),
        ("alg in small letters", alg("rs256"), "algorithm"),
        ("alg half so", alg("Rs256"), "algorithm"),
        ("alg with a space", alg("RS256 "), "algorithm"),
        ("alg es256", header("alg", r#""es256""#), "algorithm"),
        ("alg eddsa", by("eddsa", "ed").sign(&ED), "algorithm"),
        ("alg empty", header("alg", r#""""#), "algorithm"),
        ("alg a number", header("alg", "256"), "header"),
        ("alg an array", header("alg", r#"["ES256"]"#), "header"),
        ("alg null", header("alg", "null"), "header"),
        ("alg not of the issuer's", by("RS512", "rsa").sign(&RSA), "algorithm"),
        ("alg ES384, not of the issuer's", by("ES384", "p384").sign(&P384), "algorithm"),
        ("HS256 with the public key", by("HS256", "rsa").mac(&RSA.public()), "algorithm"),
        ("HS256 with the key as it is written", by("HS256", "rsa").mac(RSA.jwk("").as_bytes()), "algorithm"),
        ("HS256 with the secret of the set", by("HS256", "oct").mac(b"secret"), "algorithm"),
        ("a MAC called RS256", by("RS256", "rsa").mac(&RSA.public()), "signature"),
        ("a MAC called ES256", good().mac(&P256.public()), "signature"),
        ("crit, unknown", header("crit", r#"["exp"]"#), "critical_extension"),
        ("crit, empty", header("crit", "[]"), "critical_extension"),
        (
            "crit, b64",
            good().header("b64", "false").header("crit", r#"["b64"]"#).sign(&P256),
            "critical_extension",
        ),
        ("plain type", header("typ", r#""JWT""#), "type"),
        ("no type", good().without_header("typ").sign(&P256), "type"),
        ("another type", header("typ", r#""logout+jwt""#), "type"),
        (
            "another type where JWT is allowed",
            token("https://plain").header("typ", r#""dpop+jwt""#).sign(&P256),
            "type",
        ),
        ("typ a number", header("typ", "1"), "header"),
        ("cty a number", header("cty", "1"), "header"),
    ]
}

fn keys() -> Vec<Row> {
    let kid = |kid: &str| good().header("kid", quoted(kid)).sign(&P256);
    vec![
        ("kid unknown", kid("nobody"), "key_unknown"),
        ("kid a path", kid("../../../../dev/null"), "key_unknown"),
        ("kid a URL", kid("https://evil/keys"), "key_unknown"),
        ("kid a query", kid("x' UNION SELECT 'k"), "key_unknown"),
        ("kid empty", kid(""), "key_unknown"),
        ("kid in capitals", kid("EC"), "key_unknown"),
        ("kid as long as may be", kid(&"k".repeat(128)), "key_unknown"),
        ("kid too long", kid(&"k".repeat(129)), "header"),
        ("kid a number", good().header("kid", "1").sign(&P256), "header"),
        ("kid null", good().header("kid", "null").sign(&P256), "header"),
        ("no kid, two keys", token("https://two").without_header("kid").sign(&P256), "key_ambiguous"),
        (
            "no kid, no key of the kind",
            token("https://one").header("alg", r#""RS256""#).without_header("kid").sign(&RSA),
            "key_unfit",
        ),
        ("two of the name", kid("twin"), "key_ambiguous"),
        ("the other family's key", by("RS256", "ec").sign(&RSA), "key_unfit"),
        ("the other family's key, ES256", by("ES256", "rsa").sign(&P256), "key_unfit"),
        ("the other curve's key", by("ES256", "p384").sign(&P256), "key_unfit"),
        ("the other curve's kind", by("EdDSA", "ec").sign(&ED), "key_unfit"),
        ("a key for encryption", by("RS256", "enc").sign(&RSA), "key_unknown"),
        ("a key for making signatures", by("RS256", "ops").sign(&RSA), "key_unknown"),
        ("a key for another algorithm", by("PS256", "rs").sign(&RSA), "key_unfit"),
        ("a key whose private half is known", kid("private"), "key_unknown"),
        ("a secret", by("ES256", "oct").sign(&P256), "key_unknown"),
        ("another's key", good().sign(&p256()), "signature"),
        ("a key from the token", elsewhere().sign(&p256()), "signature"),
        (
            "another issuer's key",
            token("https://one").header("alg", r#""RS256""#).header("kid", r#""rsa""#).sign(&RSA),
            "key_unknown",
        ),
        (
            "another padding",
            format!(
                "{}.{}",
                by("PS256", "rsa").message(),
                b64(&RSA.sign("RS256", by("PS256", "rsa").message().as_bytes()))
            ),
            "signature",
        ),
        ("a signature in ASN.1", good().sign_asn1(&P256), "signature"),
        ("a bit of the signature", with_part(&signed(), 2, |part| flipped(part, 10)), "signature"),
        ("a bit of the claims", tampered(), "signature"),
        (
            "a signature of something else",
            format!(
                "{}.{}",
                good().claim("sub", r#""root""#).message(),
                signed().rsplit_once('.').unwrap().1
            ),
            "signature",
        ),
        ("zeros", format!("{}.{}", good().message(), b64(&[0; 64])), "signature"),
        ("a signature cut short", with_part(&signed(), 2, |_| b64(&[1; 32])), "signature"),
    ]
}

/// The same length, the character at a place changed.
fn flipped(part: &str, at: usize) -> String {
    let other = if part.as_bytes()[at] == b'A' { 'B' } else { 'A' };
    format!("{}{other}{}", &part[..at], &part[at + 1..])
}

/// A good token whose subject was changed after it was signed.
fn tampered() -> String {
    let signature = signed().rsplit_once('.').unwrap().1.to_owned();
    let claims = good().claims.replace("ann", "bob");
    format!("{}.{}.{signature}", b64(good().header.as_bytes()), b64(claims.as_bytes()))
}

fn times() -> Vec<Row> {
    let claim = |name: &str, value: &str| good().claim(name, value).sign(&P256);
    let at = |name: &str, shift: i64| claim(name, &at_seconds(shift));
    let aged = |value: &str| token("https://aged").claim("iat", value).sign(&P256);
    let mut rows = vec![
        ("exp absent", good().without("exp").sign(&P256), "expiry_missing"),
        ("expired", at("exp", -3600), "expired"),
        ("expired, at the end of the skew", at("exp", -30), "expired"),
        ("expired by 1 s beyond skew", at("exp", -31), "expired"),
        ("exp 0", claim("exp", "0"), "expired"),
        ("exp in milliseconds", claim("exp", "1800000300000"), "claim"),
        ("not yet", at("nbf", 31), "not_yet_valid"),
        ("not for long", at("nbf", 86400), "not_yet_valid"),
        ("issued in the future", at("iat", 31), "issued_later"),
        ("too old", aged(&at_seconds(-630)), "too_old"),
        ("of no age", token("https://aged").without("iat").sign(&P256), "issued_missing"),
    ];
    for (name, value) in [
        ("a string", r#""1900000000""#),
        ("null", "null"),
        ("true", "true"),
        ("an array", "[1900000000]"),
        ("an object", "{}"),
        ("huge", "1e300"),
        ("infinite", "1e999"),
        ("negative", "-1"),
        ("the last of an i64", "9223372036854775807"),
        ("beyond any integer", "99999999999999999999999999"),
    ] {
        for date in ["exp", "nbf", "iat"] {
            rows.push((name, claim(date, value), "claim"));
        }
    }
    rows
}

fn others() -> Vec<Row> {
    let claim = |name: &str, value: &str| good().claim(name, value).sign(&P256);
    vec![
        ("iss absent", good().without("iss").sign(&P256), "issuer_missing"),
        ("iss with a slash at the end", claim("iss", r#""https://as/""#), "issuer"),
        ("iss in capitals", claim("iss", r#""https://AS""#), "issuer"),
        ("iss with a port", claim("iss", r#""https://as:443""#), "issuer"),
        ("iss with a space", claim("iss", r#""https://as ""#), "issuer"),
        ("iss empty", claim("iss", r#""""#), "issuer"),
        ("iss unknown", claim("iss", r#""https://evil""#), "issuer"),
        ("iss an array", claim("iss", r#"["https://as"]"#), "claim"),
        ("iss a number", claim("iss", "1"), "claim"),
        ("iss null", claim("iss", "null"), "claim"),
        ("aud absent", good().without("aud").sign(&P256), "audience_missing"),
        ("aud nobody", claim("aud", "[]"), "audience_missing"),
        ("aud somebody else", claim("aud", r#""https://other""#), "audience"),
        ("aud with a slash at the end", claim("aud", r#""https://gw/mcp/""#), "audience"),
        ("aud in capitals", claim("aud", r#""https://GW/mcp""#), "audience"),
        ("aud a part", claim("aud", r#""https://gw""#), "audience"),
        ("aud more", claim("aud", r#""https://gw/mcp/files""#), "audience"),
        ("aud empty", claim("aud", r#""""#), "audience"),
        ("aud others", claim("aud", r#"["a","b"]"#), "audience"),
        ("aud a number", claim("aud", "1"), "claim"),
        ("aud null", claim("aud", "null"), "claim"),
        ("aud an object", claim("aud", r#"{"https://gw/mcp":true}"#), "claim"),
        ("aud with a number in it", claim("aud", r#"["https://gw/mcp",1]"#), "claim"),
        ("aud nested", claim("aud", r#"[["https://gw/mcp"]]"#), "claim"),
        ("aud of 65", claim("aud", &format!("[{}]", vec![r#""https://gw/mcp""#; 65].join(","))), "claim"),
        ("sub absent", good().without("sub").sign(&P256), "subject_missing"),
        ("sub empty", claim("sub", r#""""#), "claim"),
        (
            "sub empty, client named",
            good().claim("sub", r#""""#).claim("client_id", r#""app""#).sign(&P256),
            "claim",
        ),
        ("sub too long", claim("sub", &quoted(&"s".repeat(1025))), "claim"),
        ("sub a number", claim("sub", "1"), "claim"),
        ("sub null", claim("sub", "null"), "claim"),
        ("sub an array", claim("sub", r#"["ann"]"#), "claim"),
        ("client_id a number", good().without("sub").claim("client_id", "1").sign(&P256), "claim"),
        ("client_id empty", good().without("sub").claim("client_id", r#""""#).sign(&P256), "claim"),
        ("jti a number", claim("jti", "1"), "claim"),
        ("scope a number", claim("scope", "1"), "claim"),
        ("scope null", claim("scope", "null"), "claim"),
        ("scp with a number in it", claim("scp", r#"["a",1]"#), "claim"),
        ("an ID token", claim("nonce", r#""n""#), "id_token"),
        (
            "an ID token of a lenient issuer",
            token("https://plain").header("typ", r#""JWT""#).claim("at_hash", r#""h""#).sign(&P256),
            "id_token",
        ),
        ("an ID token of a hybrid flow", claim("c_hash", r#""h""#), "id_token"),
        ("bound to a key", claim("cnf", r#"{"jkt":"x"}"#), "sender_constrained"),
    ]
}

#[tokio::test(start_paused = true)]
async fn each_token_of_the_matrix_gets_its_verdict() {
    let (verifier, servers) = verifier().await;
    let rows: Vec<Row> = [good_ones(), forms(), headers(), keys(), times(), others()].concat();
    assert!(rows.len() > 80, "{} rows", rows.len());
    let mut wrong = Vec::new();
    // Twice: a verdict that is remembered is the same.
    for pass in ["first", "again"] {
        for (name, token, expected) in &rows {
            let found = code(&verifier, token).await;
            if found != *expected {
                wrong.push(format!("{name}, {pass}: {found} instead of {expected}"));
            }
        }
    }
    assert!(wrong.is_empty(), "{wrong:#?}");
    let page = page(&verifier);
    let good = good_ones().len() * 2;
    assert!(page.contains(&format!("gateway_token_verifications_total{{result=\"ok\"}} {good}\n")), "{page}");
    assert!(page.contains("gateway_token_verifications_total{result=\"key_unfit\"}"), "{page}");
    let urls: Vec<_> = servers.asked().into_iter().map(|asked| asked.request.uri().to_string()).collect();
    assert!(
        urls.len() <= 8 && urls.iter().all(|url| url.ends_with("/keys") && !url.contains("evil")),
        "{urls:?}"
    );
}

/// Signatures that were checked so far, whoever's.
fn checks(verifier: &Verifier) -> u64 {
    let page = page(verifier);
    let lines = page.lines().filter(|line| line.starts_with("gateway_token_signature_checks_total{"));
    lines.map(|line| line.rsplit_once(' ').unwrap().1.parse::<u64>().unwrap()).sum()
}

/// How many signatures a verdict costs: none if it is about what everybody may know of a token and its issuer, else
/// one, so that what a token claims changes nothing unless it is signed.
fn cost(name: &str, verdict: &str) -> u64 {
    let is_public = [
        "too_large",
        "malformed",
        "opaque",
        "encrypted",
        "nested",
        "header",
        "critical_extension",
        "algorithm",
        "type",
        "issuer_missing",
        "issuer",
        "key_unknown",
        "key_ambiguous",
        "key_unfit",
    ]
    .contains(&verdict);
    let is_about_issuer = verdict == "claim" && name.starts_with("iss ");
    u64::from(!is_public && !is_about_issuer)
}

#[tokio::test(start_paused = true)]
async fn a_refusal_takes_as_much_work_as_any_other_and_waits_for_nobody() {
    let (verifier, _) = verifier().await;
    // A name that is not known has keys read again, once in half a minute for all.
    assert_eq!(code(&verifier, &good().header("kid", r#""new""#).sign(&P256)).await, "key_unknown");
    for (name, token, verdict) in [good_ones(), forms(), headers(), keys(), times(), others()].concat() {
        let (before, at) = (checks(&verifier), tokio::time::Instant::now());
        let found = code(&verifier, &token).await;
        assert_eq!((found, checks(&verifier) - before), (verdict, cost(name, verdict)), "{name}");
        assert!(at.elapsed().is_zero(), "{name}");
    }
    // Of claims that nobody has signed, whatever they are, there is only one thing to say.
    for (name, value) in
        [("exp", "1"), ("exp", "{}"), ("aud", "null"), ("sub", r#""""#), ("nonce", "1"), ("cnf", "{}")]
    {
        let (before, forged) = (checks(&verifier), good().claim(name, value).sign(&p256()));
        assert_eq!(code(&verifier, &forged).await, "signature", "{name} {value}");
        assert_eq!(checks(&verifier) - before, 1, "{name} {value}");
    }
}
