use std::{
    fmt, fs,
    io::{ErrorKind, Write as _},
    os::unix::fs::{DirBuilderExt as _, MetadataExt as _, OpenOptionsExt as _},
    path::{Path, PathBuf},
    sync::Arc,
};

use async_trait::async_trait;
use aws_lc_rs::aead::{AES_256_GCM, Aad, NONCE_LEN, Nonce, RandomizedNonceKey};
use base64::{Engine as _, engine::general_purpose::STANDARD};
use gateway_domain::Secret;
use zeroize::Zeroizing;

use super::{Slot, StoreError, TokenStore};

/// The key that a [`FileStore`] encrypts with.
#[derive(Debug, Clone)]
pub enum StoreKey {
    /// 32 bytes as base64 or 64 hexadecimal digits.
    Given(Secret),
    /// Made when the store is opened first, and kept beside what it encrypts in the file `key`, mode 0600: then tokens
    /// are as safe as that file.
    Generated,
}

/// Keeps each document in a file of its own, encrypted with AES-256-GCM: a file cannot be read with another key, nor
/// put in the place of another. The folder has mode 0700 and its files 0600; files are replaced as a whole.
#[derive(Clone)]
pub struct FileStore {
    folder: Arc<Path>,
    key: Arc<RandomizedNonceKey>,
}

impl FileStore {
    /// Opens a store, and makes its folder if there is none. Blocks for a few small files.
    ///
    /// # Errors
    /// [`StoreError`]: also if others than the owner may read the folder or the key.
    pub fn open(folder: &Path, key: &StoreKey) -> Result<Self, StoreError> {
        fs::DirBuilder::new().recursive(true).mode(0o700).create(folder).map_err(io)?;
        must_be_private(folder)?;
        let text = match key {
            StoreKey::Given(text) => text.clone(),
            StoreKey::Generated => kept_key(&folder.join(KEY_FILE))?,
        };
        let bytes = key_bytes(text.expose()).ok_or(StoreError::BadKey)?;
        let key = RandomizedNonceKey::new(&AES_256_GCM, &bytes).map_err(|_| StoreError::BadKey)?;
        Ok(Self { folder: folder.into(), key: Arc::new(key) })
    }

    fn path(&self, slot: &Slot) -> PathBuf {
        self.folder.join(slot.name())
    }

    fn read(&self, slot: &Slot) -> Result<Option<Zeroizing<Vec<u8>>>, StoreError> {
        let file = match fs::read(self.path(slot)) {
            Ok(file) if file.len() <= LONGEST => Zeroizing::new(file),
            Ok(_) => return Err(StoreError::Unreadable),
            Err(error) if error.kind() == ErrorKind::NotFound => return Ok(None),
            Err(error) => return Err(io(error)),
        };
        let rest = file.strip_prefix(MAGIC).ok_or(StoreError::Unreadable)?;
        let (nonce, sealed) = rest.split_at_checked(NONCE_LEN).ok_or(StoreError::Unreadable)?;
        let nonce = Nonce::try_assume_unique_for_key(nonce).map_err(|_| StoreError::Unreadable)?;
        let mut text = Zeroizing::new(sealed.to_vec());
        let opened = self.key.open_in_place(nonce, Aad::from(slot.identity()), &mut text);
        let length = opened.map_err(|_| StoreError::Unreadable)?.len();
        text.truncate(length);
        Ok(Some(text))
    }

    fn write(&self, slot: &Slot, mut document: Zeroizing<Vec<u8>>) -> Result<(), StoreError> {
        let sealed = self.key.seal_in_place_append_tag(Aad::from(slot.identity()), &mut *document);
        let nonce = sealed.map_err(|_| StoreError::Unreadable)?;
        let file = [MAGIC, nonce.as_ref(), &document].concat();
        replace(&self.path(slot), &file)
    }

    async fn blocking<T: Send + 'static>(
        &self,
        job: impl FnOnce(&Self) -> Result<T, StoreError> + Send + 'static,
    ) -> Result<T, StoreError> {
        let store = self.clone();
        let done = tokio::task::spawn_blocking(move || job(&store)).await;
        done.map_err(|_| StoreError::Io("the runtime is ending".into()))?
    }
}

#[async_trait]
impl TokenStore for FileStore {
    async fn load(&self, slot: &Slot) -> Result<Option<Zeroizing<Vec<u8>>>, StoreError> {
        let slot = slot.clone();
        self.blocking(move |store| store.read(&slot)).await
    }

    async fn save(&self, slot: &Slot, document: Zeroizing<Vec<u8>>) -> Result<(), StoreError> {
        let slot = slot.clone();
        self.blocking(move |store| store.write(&slot, document)).await
    }

    async fn remove(&self, slot: &Slot) -> Result<(), StoreError> {
        let slot = slot.clone();
        self.blocking(move |store| match fs::remove_file(store.path(&slot)) {
            Err(error) if error.kind() != ErrorKind::NotFound => Err(io(error)),
            _ => Ok(()),
        })
        .await
    }
}

impl fmt::Debug for FileStore {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("FileStore").field("folder", &self.folder).finish_non_exhaustive()
    }
}

const KEY_FILE: &str = "key";
const MAGIC: &[u8] = b"gateway-tokens-1\n";
/// Bytes of a file: several times what the largest answer of a token endpoint makes.
const LONGEST: usize = 512 * 1024;

fn io(error: std::io::Error) -> StoreError {
    StoreError::Io(error.to_string().into())
}

fn must_be_private(path: &Path) -> Result<(), StoreError> {
    let mode = fs::metadata(path).map_err(io)?.mode();
    if mode & 0o077 == 0 { Ok(()) } else { Err(StoreError::Exposed(path.display().to_string().into())) }
}

/// The generated key. Whoever comes first makes it; it appears whole.
fn kept_key(path: &Path) -> Result<Secret, StoreError> {
    if !path.exists() {
        let key = new_key()?;
        let fresh = beside(path)?;
        write_new(&fresh, key.as_bytes())?;
        let linked = fs::hard_link(&fresh, path);
        fs::remove_file(&fresh).map_err(io)?;
        linked.or_else(
            |error| if error.kind() == ErrorKind::AlreadyExists { Ok(()) } else { Err(io(error)) },
        )?;
    }
    must_be_private(path)?;
    Ok(Secret::new(fs::read_to_string(path).map_err(io)?))
}

fn new_key() -> Result<Zeroizing<String>, StoreError> {
    let mut bytes = Zeroizing::new([0; 32]);
    aws_lc_rs::rand::fill(&mut *bytes).map_err(|_| StoreError::Io("no random numbers".into()))?;
    Ok(Zeroizing::new(STANDARD.encode(*bytes)))
}

fn key_bytes(text: &str) -> Option<Zeroizing<Vec<u8>>> {
    let text = text.trim();
    let digit = |at: usize| text.get(at..at + 2).and_then(|pair| u8::from_str_radix(pair, 16).ok());
    let bytes = if text.len() == 64 {
        (0..64).step_by(2).map(digit).collect::<Option<Vec<u8>>>()?
    } else {
        STANDARD.decode(text).ok()?
    };
    (bytes.len() == 32).then(|| Zeroizing::new(bytes))
}

/// Puts a file in the place of another; whoever reads sees one or the other, whole.
fn replace(path: &Path, content: &[u8]) -> Result<(), StoreError> {
    let fresh = beside(path)?;
    let replaced = write_new(&fresh, content).and_then(|()| fs::rename(&fresh, path).map_err(io));
    if replaced.is_err() {
        // It may not even be there.
        let _ = fs::remove_file(&fresh);
    }
    replaced
}

/// A name that nobody else uses, in the same folder.
fn beside(path: &Path) -> Result<PathBuf, StoreError> {
    let mut random = [0; 8];
    aws_lc_rs::rand::fill(&mut random).map_err(|_| StoreError::Io("no random numbers".into()))?;
    Ok(path.with_extension(format!("{:016x}", u64::from_ne_bytes(random))))
}

fn write_new(path: &Path, content: &[u8]) -> Result<(), StoreError> {
    let mut file = fs::OpenOptions::new().write(true).create_new(true).mode(0o600).open(path).map_err(io)?;
    file.write_all(content).and_then(|()| file.sync_all()).map_err(io)
}

#[cfg(test)]
mod tests;
