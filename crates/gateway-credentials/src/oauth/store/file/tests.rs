use std::os::unix::fs::PermissionsExt as _;

use super::*;
use crate::oauth::store::Owner;

fn slot(issuer: &str) -> Slot {
    Slot::tokens(issuer, "https://server", &Owner::Gateway)
}

fn document(text: &str) -> Zeroizing<Vec<u8>> {
    Zeroizing::new(text.as_bytes().to_vec())
}

fn text(found: Result<Option<Zeroizing<Vec<u8>>>, StoreError>) -> Result<Option<String>, StoreError> {
    found.map(|found| found.map(|bytes| String::from_utf8(bytes.to_vec()).unwrap()))
}

fn given(letter: &str) -> StoreKey {
    StoreKey::Given(Secret::new(letter.repeat(64)))
}

#[tokio::test]
async fn what_is_kept_is_found_again_and_cannot_be_read_in_its_file() {
    let folder = tempfile::tempdir().unwrap();
    let folder = folder.path().join("a/b");
    for round in ["canary one", "canary two"] {
        let store = FileStore::open(&folder, &StoreKey::Generated).unwrap();
        store.save(&slot("i"), document(round)).await.unwrap();
        let again = FileStore::open(&folder, &StoreKey::Generated).unwrap();
        assert_eq!(text(again.load(&slot("i")).await), Ok(Some(round.to_owned())));
        assert_eq!(text(again.load(&slot("j")).await), Ok(None));
    }
    assert_eq!(fs::metadata(&folder).unwrap().mode() & 0o777, 0o700);
    let files: Vec<_> = fs::read_dir(&folder).unwrap().map(|file| file.unwrap().path()).collect();
    assert_eq!(files.len(), 2, "one file, replaced, and the key: {files:?}");
    for file in &files {
        assert_eq!(fs::metadata(file).unwrap().mode() & 0o777, 0o600);
        assert!(!fs::read(file).unwrap().windows(6).any(|bytes| bytes == b"canary"));
    }
    let store = FileStore::open(&folder, &StoreKey::Generated).unwrap();
    store.remove(&slot("i")).await.unwrap();
    store.remove(&slot("i")).await.unwrap();
    assert_eq!(text(store.load(&slot("i")).await), Ok(None));
}

#[tokio::test]
async fn a_file_is_good_in_its_place_and_with_its_key_only() {
    let folder = tempfile::tempdir().unwrap();
    fs::set_permissions(folder.path(), fs::Permissions::from_mode(0o700)).unwrap();
    let store = FileStore::open(folder.path(), &given("a")).unwrap();
    store.save(&slot("i"), document("x")).await.unwrap();
    let other = FileStore::open(folder.path(), &given("b")).unwrap();
    assert_eq!(text(other.load(&slot("i")).await), Err(StoreError::Unreadable));
    let (file, elsewhere) = (folder.path().join(slot("i").name()), folder.path().join(slot("j").name()));
    fs::copy(&file, &elsewhere).unwrap();
    assert_eq!(text(store.load(&slot("j")).await), Err(StoreError::Unreadable), "another issuer's place");
    let whole = fs::read(&file).unwrap();
    for at in 0..whole.len() {
        let mut changed = whole.clone();
        changed[at] ^= 1;
        fs::write(&file, &changed).unwrap();
        assert_eq!(text(store.load(&slot("i")).await), Err(StoreError::Unreadable), "byte {at}");
        fs::write(&file, &whole[..at]).unwrap();
        assert_eq!(text(store.load(&slot("i")).await), Err(StoreError::Unreadable), "cut at {at}");
    }
}

#[test]
fn what_others_may_read_is_refused() {
    let folder = tempfile::tempdir().unwrap();
    let open = |mode| fs::set_permissions(folder.path(), fs::Permissions::from_mode(mode)).unwrap();
    for mode in [0o750, 0o701, 0o777] {
        open(mode);
        assert!(matches!(FileStore::open(folder.path(), &StoreKey::Generated), Err(StoreError::Exposed(_))));
    }
    open(0o700);
    FileStore::open(folder.path(), &StoreKey::Generated).unwrap();
    fs::set_permissions(folder.path().join(KEY_FILE), fs::Permissions::from_mode(0o640)).unwrap();
    assert!(matches!(FileStore::open(folder.path(), &StoreKey::Generated), Err(StoreError::Exposed(_))));
}

#[test]
fn a_key_has_32_bytes() {
    let base64 = STANDARD.encode([7; 32]);
    let rows = [
        ("a".repeat(64), true),
        ("A".repeat(64), true),
        (format!("{base64}\n"), true),
        ("g".repeat(64), false),
        ("a".repeat(62), false),
        (STANDARD.encode([7; 31]), false),
        (String::new(), false),
    ];
    for (key, good) in rows {
        assert_eq!(key_bytes(&key).is_some(), good, "{key}");
    }
}

#[tokio::test]
async fn what_is_longer_than_any_document_is_not_read() {
    let folder = tempfile::tempdir().unwrap();
    let store = FileStore::open(&folder.path().join("a"), &given("a")).unwrap();
    let overhead = MAGIC.len() + NONCE_LEN + AES_256_GCM.tag_len();
    for (length, expected) in
        [(LONGEST - overhead, Ok(true)), (LONGEST - overhead + 1, Err(StoreError::Unreadable))]
    {
        store.save(&slot("i"), Zeroizing::new(vec![b'x'; length])).await.unwrap();
        assert_eq!(store.load(&slot("i")).await.map(|found| found.is_some()), expected, "{length}");
    }
}

#[tokio::test]
async fn what_cannot_be_read_or_removed_is_not_taken_for_nothing() {
    let folder = tempfile::tempdir().unwrap();
    let store = FileStore::open(&folder.path().join("a"), &given("a")).unwrap();
    fs::create_dir(store.path(&slot("i"))).unwrap();
    assert!(matches!(store.load(&slot("i")).await, Err(StoreError::Io(_))));
    assert!(matches!(store.remove(&slot("i")).await, Err(StoreError::Io(_))));
}

#[test]
fn those_who_open_a_store_first_at_the_same_time_have_one_key() {
    for _ in 0..20 {
        let folder = tempfile::tempdir().unwrap();
        let (path, start) = (folder.path().join(KEY_FILE), std::sync::Barrier::new(8));
        let keys: Vec<_> = std::thread::scope(|scope| {
            let open = || {
                start.wait();
                kept_key(&path)
            };
            let all: Vec<_> = (0..8).map(|_| scope.spawn(open)).collect();
            all.into_iter().map(|one| one.join().unwrap().unwrap()).collect()
        });
        assert!(keys.iter().all(|key| key.expose() == keys[0].expose()));
        assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 1, "nothing else is left");
    }
}
