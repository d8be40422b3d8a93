use std::os::unix::fs::symlink;

use super::*;

/// A folder with documents, some of which are not to be reached from `api/doc.yaml`.
fn folder() -> (tempfile::TempDir, PathBuf) {
    let folder = tempfile::tempdir().unwrap();
    let root = fs::canonicalize(folder.path()).unwrap();
    for path in [
        "api/doc.yaml",
        "api/pets.yaml",
        "api/v1/cats.yaml",
        "api/v1/x/deep.yaml",
        "api-private/s.yaml",
        "s.yaml",
    ] {
        let path = root.join(path);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, "{}").unwrap();
    }
    symlink(root.join("s.yaml"), root.join("api/link.yaml")).unwrap();
    symlink(root.join("api"), root.join("api/v1/up")).unwrap();
    (folder, root)
}

async fn resolved(references: &References, base: &Place, reference: &str) -> Option<Place> {
    references.resolve(base, reference).await.ok()
}

#[tokio::test]
async fn files_are_reached_only_below_what_is_allowed() {
    let (_folder, root) = folder();
    let base = Place::File(root.join("api/doc.yaml"));
    let text = |path: &str| root.join(path).to_string_lossy().into_owned();
    let check = async |allowed: &str, reference: &str, expected: Option<&str>| {
        let references = References::none().with_files(&text(allowed)).unwrap();
        let expected = expected.map(|path| Place::File(root.join(path)));
        assert_eq!(resolved(&references, &base, reference).await, expected, "{reference} with {allowed}");
    };
    for (allowed, reference, expected) in [
        ("api", "pets.yaml", Some("api/pets.yaml")),
        ("api", "./v1/../pets.yaml#/x", Some("api/pets.yaml")),
        ("api", "v1/x/deep.yaml", Some("api/v1/x/deep.yaml")),
        ("api", "p%65ts.yaml", Some("api/pets.yaml")),
        ("api", "v1/up/pets.yaml", Some("api/pets.yaml")),
        ("api", "../s.yaml", None),
        ("api", "..%2fs.yaml", None),
        ("api", "link.yaml", None),
        ("api", "../api-private/s.yaml", None),
        ("api", "absent.yaml", None),
        ("api", "/etc/hostname", None),
        ("api", "file:///etc/hostname", None),
        ("api", "file://other.example/s.yaml", None),
        ("api", "http://localhost/pets.yaml", None),
        ("api", "data:application/json,{}", None),
        ("api", "pets.yaml%00", None),
        ("api/pets.yaml", "pets.yaml", Some("api/pets.yaml")),
        ("api/pets.yaml", "v1/cats.yaml", None),
        ("api/*.yaml", "pets.yaml", Some("api/pets.yaml")),
        ("api/*.yaml", "v1/cats.yaml", None),
        ("api/**/*.yaml", "v1/x/deep.yaml", Some("api/v1/x/deep.yaml")),
        ("api/*.yaml", "link.yaml", None),
        ("api/v?/*", "v1/cats.yaml", Some("api/v1/cats.yaml")),
    ] {
        check(allowed, reference, expected).await;
    }
    check("api", &format!("file://{}", text("api/pets.yaml")), Some("api/pets.yaml")).await;
}

#[tokio::test]
async fn by_default_a_document_refers_to_itself_and_to_nothing_else() {
    let (_folder, root) = folder();
    let base = Place::File(root.join("api/v1/up/doc.yaml"));
    let none = References::none();
    assert!(none.is_empty());
    for own in ["", "#/components/schemas/Pet", "doc.yaml#/x", "./doc.yaml"] {
        assert_eq!(resolved(&none, &base, own).await.as_ref(), Some(&base), "{own}");
    }
    let error = none.resolve(&base, "pets.yaml").await.unwrap_err().to_string();
    let absent = none.resolve(&base, "absent.yaml").await.unwrap_err().to_string();
    assert_eq!(error, absent, "tells nothing of the file system");
    let url = Place::parse("https://api.example/doc.yaml").unwrap();
    assert_eq!(resolved(&none, &url, "doc.yaml").await.as_ref(), Some(&url));
    assert_eq!(resolved(&none, &url, "pets.yaml").await, None);
}

#[tokio::test]
async fn urls_are_compared_by_what_they_mean() {
    let base = Place::parse("https://docs.example/x/doc.yaml").unwrap();
    let check = async |prefix: &str, reference: &str, expected: bool| {
        let references = References::none().with_urls(prefix).unwrap();
        let found = resolved(&references, &base, reference).await;
        assert_eq!(found.is_some(), expected, "{reference} with {prefix}: {found:?}");
    };
    for (prefix, reference, expected) in [
        ("https://docs.example", "pets.yaml", true),
        ("https://docs.example/x", "pets.yaml", true),
        ("https://docs.example/x/", "./y/pets.yaml", true),
        ("https://docs.example/x", "https://DOCS.example:443/x/pets.yaml", true),
        ("https://docs.example/x", "../pets.yaml", false),
        ("https://docs.example/x", "/xy/pets.yaml", false),
        ("https://docs.example/x", "/x/../y/pets.yaml", false),
        ("https://docs.example/x", "/x/%2e%2e/y/pets.yaml", false),
        ("https://docs.example", "http://docs.example/x/pets.yaml", false),
        ("https://docs.example", "https://docs.example.evil/x/pets.yaml", false),
        ("https://docs.example", "https://docs.example@evil.example/pets.yaml", false),
        ("https://docs.example", "https://docs.example:8443/pets.yaml", false),
        ("https://docs.example", "//docs.example/pets.yaml", true),
        ("https://docs.example", "file:///etc/hostname", false),
        ("https://docs.example", "/etc/hostname", true),
    ] {
        check(prefix, reference, expected).await;
    }
}

#[tokio::test]
async fn a_document_from_elsewhere_never_leads_to_files() {
    let (_folder, root) = folder();
    let root = root.to_string_lossy();
    let references = References::none().with_files(&root).unwrap().with_urls("https://docs.example").unwrap();
    let url = Place::parse("https://docs.example/doc.yaml").unwrap();
    let bytes = Place::Bytes { name: "upload".into(), content: "{}".into() };
    for reference in [format!("file://{root}/s.yaml"), format!("{root}/s.yaml")] {
        assert_eq!(resolved(&references, &bytes, &reference).await, None, "{reference}");
        let found = resolved(&references, &url, &reference).await;
        assert!(!matches!(found, Some(Place::File(_))), "{reference}");
    }
    assert_eq!(resolved(&references, &bytes, "pets.yaml").await, None);
    assert!(resolved(&references, &bytes, "https://docs.example/pets.yaml").await.is_some());
}

#[test]
fn rules_that_cannot_be_are_refused() {
    let refused = |error: SourceError| error.to_string();
    let absent = References::none().with_files("/absent/folder").map_err(refused).unwrap_err();
    assert!(absent.starts_with("cannot read /absent/folder: "), "{absent}");
    for url in [
        "ftp://docs.example",
        "docs.example",
        "https://user:secret@docs.example",
        "https://docs.example/?k=secret",
    ] {
        let error = References::none().with_urls(url).map_err(refused).unwrap_err();
        assert!(!error.contains("secret"), "{error}");
    }
}
