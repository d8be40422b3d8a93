use aws_lc_rs::signature::{
    ECDSA_P256_SHA256_ASN1_SIGNING, ECDSA_P256_SHA256_FIXED, KeyPair as _, UnparsedPublicKey,
};

use super::*;

fn pem(label: &str, der: &[u8]) -> Secret {
    let text = STANDARD.encode(der);
    let lines: Vec<_> =
        text.as_bytes().chunks(64).map(|line| String::from_utf8_lossy(line).into_owned()).collect();
    Secret::new(format!("note\n-----BEGIN {label}-----\n{}\n-----END {label}-----\n", lines.join("\n")))
}

fn p256() -> Vec<u8> {
    EcdsaKeyPair::generate_pkcs8(&ECDSA_P256_SHA256_ASN1_SIGNING, &SystemRandom::new())
        .unwrap()
        .as_ref()
        .to_vec()
}

#[test]
fn an_assertion_says_who_the_client_is_to_one_issuer_for_a_minute() {
    let der = p256();
    let key = SigningKey::from_pem(&pem("PRIVATE KEY", &der)).unwrap();
    let jwt = key.assertion("me \"quoted\"", "https://issuer", 1000).unwrap();
    let parts: Vec<_> = jwt.split('.').collect();
    let read = |at: usize| String::from_utf8(URL_SAFE_NO_PAD.decode(parts[at]).unwrap()).unwrap();
    assert_eq!(read(0), r#"{"alg":"ES256","typ":"JWT"}"#);
    let claims = read(1);
    let (before, after) = (
        r#"{"iss":"me \"quoted\"","sub":"me \"quoted\"","aud":"https://issuer","jti":""#,
        r#"","iat":1000,"exp":1060}"#,
    );
    assert!(claims.starts_with(before) && claims.ends_with(after), "{claims}");
    let public = EcdsaKeyPair::from_pkcs8(&ECDSA_P256_SHA256_FIXED_SIGNING, &der).unwrap();
    let public = UnparsedPublicKey::new(&ECDSA_P256_SHA256_FIXED, public.public_key().as_ref().to_vec());
    let signed = format!("{}.{}", parts[0], parts[1]);
    public.verify(signed.as_bytes(), &URL_SAFE_NO_PAD.decode(parts[2]).unwrap()).unwrap();
    assert_ne!(
        *key.assertion("me", "https://issuer", 1000).unwrap(),
        *key.assertion("me", "https://issuer", 1000).unwrap()
    );
}

#[test]
fn keys_of_each_kind_are_known_and_never_shown() {
    let ed25519 = Ed25519KeyPair::generate_pkcs8(&SystemRandom::new()).unwrap().as_ref().to_vec();
    let rsa = aws_lc_rs::rsa::KeyPair::generate(aws_lc_rs::rsa::KeySize::Rsa2048).unwrap();
    let rsa = aws_lc_rs::encoding::AsDer::<aws_lc_rs::encoding::Pkcs8V1Der<'_>>::as_der(&rsa)
        .unwrap()
        .as_ref()
        .to_vec();
    let p384 = EcdsaKeyPair::generate_pkcs8(&ECDSA_P384_SHA384_FIXED_SIGNING, &SystemRandom::new()).unwrap();
    for (der, algorithm) in
        [(p256(), "ES256"), (p384.as_ref().to_vec(), "ES384"), (ed25519, "EdDSA"), (rsa, "RS256")]
    {
        let key = SigningKey::from_pem(&pem("PRIVATE KEY", &der)).unwrap();
        assert_eq!(format!("{key:?}"), format!("SigningKey({algorithm})"));
        assert_eq!(key.assertion("a", "b", 0).unwrap().split('.').count(), 3);
    }
}

#[test]
fn what_is_no_key_is_refused() {
    let der = p256();
    for text in [
        pem("PUBLIC KEY", &der),
        pem("ENCRYPTED PRIVATE KEY", &der),
        pem("PRIVATE KEY", b"no key"),
        "x".into(),
    ] {
        assert!(matches!(SigningKey::from_pem(&text), Err(OauthError::Misconfigured(_))));
    }
}
