use async_trait::async_trait;
use gateway_domain::{Caller, DownstreamName, TokenError};

use super::*;

struct Nobody;

#[async_trait]
impl TokenVerifier for Nobody {
    async fn verify(&self, _: &str, _: &View) -> Result<Caller, TokenError> {
        Err(TokenError::Invalid { reason: "x" })
    }
}

fn config() -> OauthConfig {
    let mut config = OauthConfig::new(Arc::new(Nobody), "https://gw.example/mcp", "https://as.example");
    config.scopes_supported = vec!["mcp".to_owned()];
    config
}

fn view(name: &str) -> View {
    View::Downstream(DownstreamName::parse(name).unwrap())
}

fn texts(texts: &[&str]) -> Vec<String> {
    texts.iter().map(|text| (*text).to_owned()).collect()
}

#[test]
fn what_holds_together_is_taken_and_nothing_else() {
    type Change = fn(&mut OauthConfig);
    let rows: [(&str, Change, bool); 19] = [
        ("as it is", |_| {}, true),
        ("http", |c| c.resource = "http://127.0.0.1:8080/mcp".to_owned(), true),
        ("port", |c| c.authorization_servers.push("https://as.example:8443/realm/a".to_owned()), true),
        ("no servers", |c| c.authorization_servers.clear(), false),
        ("no URL", |c| c.resource = "gw.example/mcp".to_owned(), false),
        ("a path", |c| c.resource = "/mcp".to_owned(), false),
        ("nothing", |c| c.resource = String::new(), false),
        ("another scheme", |c| c.resource = "ftp://gw.example/mcp".to_owned(), false),
        ("query", |c| c.resource.push_str("?a=b"), false),
        ("empty query", |c| c.resource.push('?'), false),
        ("fragment", |c| c.resource.push_str("#a"), false),
        ("quote", |c| c.resource.push('"'), false),
        ("user", |c| c.resource = "https://a@gw.example/mcp".to_owned(), false),
        ("server", |c| c.authorization_servers.push("as.example".to_owned()), false),
        ("own resource", |c| c.resources.push((View::All, "x".to_owned())), false),
        ("offline", |c| c.scopes_supported.push("offline_access".to_owned()), false),
        ("blank in a scope", |c| c.scopes_supported.push("a b".to_owned()), false),
        ("empty scope", |c| c.scopes_supported.push(String::new()), false),
        (
            "needed scope",
            |c| c.scopes.push(ScopeRule { scopes: vec!["a\"".to_owned()], ..ScopeRule::default() }),
            false,
        ),
    ];
    for (name, change, is_taken) in rows {
        let mut config = config();
        change(&mut config);
        let error = Protected::new(&config).err();
        assert_eq!(error.is_none(), is_taken, "{name}: {error:?}");
        assert!(error.is_none_or(|error| matches!(error, BindError::Oauth { .. })), "{name}");
    }
}

#[test]
fn a_scope_is_made_of_the_characters_that_the_standard_has() {
    for byte in 0..=0x7f_u8 {
        let expected = (0x21..=0x7e).contains(&byte) && byte != b'"' && byte != b'\\';
        assert_eq!(check::is_scope(std::str::from_utf8(&[byte]).unwrap()), expected, "{byte:#x}");
    }
    assert!(!check::is_scope("é"));
}

#[test]
fn the_metadata_is_where_clients_look_for_it() {
    for (resource, url, path) in [
        (
            "https://gw.example/mcp",
            "https://gw.example/.well-known/oauth-protected-resource/mcp",
            "/.well-known/oauth-protected-resource/mcp",
        ),
        (
            "https://gw.example:8443/team/mcp",
            "https://gw.example:8443/.well-known/oauth-protected-resource/team/mcp",
            "/.well-known/oauth-protected-resource/team/mcp",
        ),
        (
            "https://gw.example/",
            "https://gw.example/.well-known/oauth-protected-resource",
            "/.well-known/oauth-protected-resource",
        ),
        (
            "https://gw.example",
            "https://gw.example/.well-known/oauth-protected-resource",
            "/.well-known/oauth-protected-resource",
        ),
    ] {
        let place = Place::new(resource, &config()).unwrap();
        assert_eq!((place.url.as_str(), place.path.as_str()), (url, path), "{resource}");
    }
}

#[test]
fn a_document_names_the_resource_as_it_is_configured() {
    let mut config = config();
    config.resources.push((view("files"), "https://files.example/mcp/files".to_owned()));
    let protected = Protected::new(&config).unwrap();
    let common = concat!(
        r#"{"resource":"https://gw.example/mcp","authorization_servers":["https://as.example"],"#,
        r#""scopes_supported":["mcp"],"bearer_methods_supported":["header"]}"#
    );
    assert_eq!(protected.document(&View::All), common);
    assert_eq!(protected.document(&view("other")), common);
    let own = String::from_utf8(protected.document(&view("files")).to_vec()).unwrap();
    assert!(own.starts_with(r#"{"resource":"https://files.example/mcp/files","#), "{own}");
    for (path, expected) in [
        ("/.well-known/oauth-protected-resource/mcp", Some(View::All)),
        ("/.well-known/oauth-protected-resource/mcp/files", Some(view("files"))),
        ("/.well-known/oauth-protected-resource/mcp/other", None),
        ("/mcp", None),
    ] {
        assert_eq!(protected.described_at(path), expected.as_ref(), "{path}");
    }
    config.scopes_supported.clear();
    let document = Protected::new(&config).unwrap().document(&View::All);
    assert!(!String::from_utf8(document.to_vec()).unwrap().contains("scopes_supported"));
}

#[test]
fn a_challenge_says_what_a_client_can_do() {
    let mut config = config();
    let rule =
        ScopeRule { views: vec![view("files")], scopes: texts(&["files", "mcp"]), ..ScopeRule::default() };
    config.scopes = vec![rule];
    config.resources.push((view("own"), "https://own.example".to_owned()));
    let protected = Protected::new(&config).unwrap();
    const META: &str = r#"resource_metadata="https://gw.example/.well-known/oauth-protected-resource/mcp""#;
    let scopes = Challenge::Scopes(texts(&["a", "b\"", "c"]));
    for (view, challenge, expected) in [
        (View::All, Challenge::Missing, format!(r#"Bearer {META}, scope="mcp""#)),
        (View::All, Challenge::Invalid, format!(r#"Bearer error="invalid_token", {META}, scope="mcp""#)),
        (view("files"), Challenge::Missing, format!(r#"Bearer {META}, scope="files mcp""#)),
        (
            view("own"),
            Challenge::Missing,
            r#"Bearer resource_metadata="https://own.example/.well-known/oauth-protected-resource", scope="mcp""#
                .to_owned(),
        ),
        (
            view("files"),
            scopes,
            format!(
                r#"Bearer error="insufficient_scope", {META}, scope="a c", error_description="the token lacks a scope that this request needs""#
            ),
        ),
    ] {
        assert_eq!(protected.challenge(&view, &challenge), expected, "{challenge:?}");
    }
    let unadvised = OauthConfig { scopes_supported: Vec::new(), scopes: Vec::new(), ..config };
    let protected = Protected::new(&unadvised).unwrap();
    assert_eq!(protected.challenge(&View::All, &Challenge::Missing), format!("Bearer {META}"));
}

#[test]
fn all_rules_that_fit_count_and_no_other() {
    let rule = |views: &[View], methods: &[&str], names: &[&str], scopes: &[&str]| ScopeRule {
        views: views.to_vec(),
        methods: texts(methods),
        names: texts(names),
        scopes: texts(scopes),
    };
    let rules = [
        rule(&[], &[], &[], &["all"]),
        rule(&[view("files")], &[], &[], &["files"]),
        rule(&[], &["tools/*"], &[], &["tools", "all"]),
        rule(&[], &["tools/call"], &["*__delete?"], &["delete"]),
        rule(&[], &[], &["file://*"], &["read"]),
    ];
    let scopes = Scopes::new(&rules);
    assert!(scopes.looks_at_names() && !Scopes::new(&rules[..3]).looks_at_names());
    for (view, method, names, expected) in [
        (View::All, None, &[][..], &["all"][..]),
        (view("files"), None, &[], &["all", "files"]),
        (view("other"), None, &[], &["all"]),
        (View::All, Some("tools/list"), &[], &["all", "tools"]),
        (View::All, Some("tools/call"), &["a__delete1"], &["all", "tools", "delete"]),
        (View::All, Some("tools/call"), &["x", "a__delete1"], &["all", "tools", "delete"]),
        (View::All, Some("tools/call"), &["a__delete"], &["all", "tools"]),
        (View::All, Some("prompts/get"), &["a__delete1"], &["all"]),
        (view("files"), Some("resources/read"), &["file://x"], &["all", "files", "read"]),
    ] {
        assert_eq!(scopes.needed(&view, method, names), expected, "{view:?} {method:?} {names:?}");
    }
}

#[test]
fn names_are_looked_at_only_where_a_rule_does() {
    for (names, expected) in [(&[][..], false), (&["files__*"][..], true)] {
        let mut config = config();
        config.scopes.push(ScopeRule { names: texts(names), scopes: texts(&["s"]), ..ScopeRule::default() });
        assert_eq!(Protected::new(&config).unwrap().looks_at_names(), expected, "{names:?}");
    }
}

#[test]
fn only_named_issuers_are_taken() {
    let protected = Protected::new(&config()).unwrap();
    assert!(protected.takes("https://as.example"));
    for other in ["https://as.example/", "https://AS.example", "https://as", ""] {
        assert!(!protected.takes(other), "{other}");
    }
}

#[test]
fn what_checks_tokens_is_not_shown() {
    let config = config();
    assert_eq!(
        format!("{config:?}"),
        r#"OauthConfig { resource: "https://gw.example/mcp", authorization_servers: ["https://as.example"], .. }"#
    );
    assert_eq!(format!("{:?}", Protected::new(&config).unwrap()), "Protected { .. }");
}
