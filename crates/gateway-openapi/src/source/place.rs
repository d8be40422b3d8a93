use std::{
    fmt, fs,
    hash::{DefaultHasher, Hash as _, Hasher as _},
    io,
    io::Read as _,
    path::{Path, PathBuf},
    time::{Duration, UNIX_EPOCH},
};

use bytes::{Bytes, BytesMut};
use http::{Request, Uri, header};
use http_body_util::BodyExt as _;

use super::{SourceError, locator};
use crate::engine::{ClientError, HttpClient, ResponseBody};

/// Where a document lies.
#[derive(Clone, PartialEq, Eq)]
pub enum Place {
    /// At hand: given by an embedder, or read already.
    Bytes {
        /// What errors and logs call it.
        name: String,
        /// The document.
        content: Bytes,
    },
    /// In a file.
    File(PathBuf),
    /// At an `http` or `https` URL.
    Url(Uri),
}

impl Place {
    /// The largest document that is worth to be read, in bytes: what callers of [`Self::fetch`] take as limit if
    /// nothing else is said.
    pub const SIZE_LIMIT: usize = 64 * 1024 * 1024;

    /// How long a URL may take, from the request to the end of the body.
    pub const TIME_LIMIT: Duration = Duration::from_secs(30);

    /// The place that an operator means: a URL if it begins with `http://` or `https://`, else a file.
    ///
    /// # Errors
    /// A URL that is none, or that holds a user name or password.
    pub fn parse(text: &str) -> Result<Self, SourceError> {
        if !locator::is_url(text) {
            return Ok(Self::File(text.into()));
        }
        // The text is not shown: it may hold a password.
        locator::parse(text).map(Self::Url).map_err(|reason| SourceError::Unreadable {
            source_name: "the given URL".into(),
            reason: reason.into(),
        })
    }

    /// What errors and logs call it: the file's path, or the URL without its query, which may hold a key.
    pub fn name(&self) -> String {
        match self {
            Self::Bytes { name, .. } => name.clone(),
            Self::File(path) => path.display().to_string(),
            Self::Url(url) => locator::shown(url),
        }
    }

    /// What tells it apart from every other place: two URLs that differ in their query only are two places. Never
    /// shown, for it is a hash of a URL whose query may hold a key, and of the content of bytes. Stable as long as the
    /// process runs.
    pub fn identity(&self) -> u64 {
        let mut hasher = DefaultHasher::new();
        match self {
            Self::Bytes { name, content } => (0, name, content).hash(&mut hasher),
            Self::File(path) => (1, path).hash(&mut hasher),
            Self::Url(url) => (2, url).hash(&mut hasher),
        }
        hasher.finish()
    }

    /// Reads the document. A URL is asked once, with GET, and must answer with 2xx; no redirect is followed. Reading
    /// ends with the first byte beyond `limit`. Cancel-safe.
    ///
    /// # Errors
    /// [`SourceError::Unreadable`], also for a URL without a client; [`SourceError::TooLarge`].
    pub async fn fetch(&self, client: Option<&dyn HttpClient>, limit: usize) -> Result<Bytes, SourceError> {
        match (self, client) {
            (Self::Bytes { content, .. }, _) if content.len() <= limit => Ok(content.clone()),
            (Self::Bytes { .. }, _) => Err(self.too_large(limit)),
            (Self::File(path), _) => self.read(path.clone(), limit).await,
            (Self::Url(url), Some(client)) => {
                match tokio::time::timeout(Self::TIME_LIMIT, self.get(url, client, limit)).await {
                    Ok(done) => done,
                    Err(_) => Err(self.unreadable(format!("no answer within {:?}", Self::TIME_LIMIT))),
                }
            }
            (Self::Url(_), None) => Err(self.unreadable("there is no HTTP client to read URLs with")),
        }
    }

    /// Changes when the document may have: a file's time of change and size. `None` if nothing can be told.
    pub async fn stamp(&self) -> Option<u64> {
        let Self::File(path) = self else { return None };
        let path = path.clone();
        tokio::task::spawn_blocking(move || {
            let about = fs::metadata(path).ok()?;
            let changed = about.modified().ok()?.duration_since(UNIX_EPOCH).unwrap_or_default();
            Some(changed.as_nanos() as u64 ^ about.len().rotate_left(40))
        })
        .await
        .ok()
        .flatten()
    }

    async fn read(&self, path: PathBuf, limit: usize) -> Result<Bytes, SourceError> {
        let read = tokio::task::spawn_blocking(move || read_file(&path, limit)).await;
        match read.map_err(io::Error::other).and_then(|read| read) {
            Ok(content) if content.len() <= limit => Ok(content.into()),
            Ok(_) => Err(self.too_large(limit)),
            Err(error) => Err(self.unreadable(error.to_string())),
        }
    }

    async fn get(&self, url: &Uri, client: &dyn HttpClient, limit: usize) -> Result<Bytes, SourceError> {
        let failed = |error: ClientError| self.unreadable(error.to_string());
        let request = Request::get(url.clone())
            .header(header::ACCEPT, "application/json, application/yaml, */*;q=0.5")
            .body(Bytes::new())
            .map_err(|error| self.unreadable(error.to_string()))?;
        let response = client.send(request).await.map_err(failed)?;
        if !response.status().is_success() {
            return Err(self.unreadable(format!("HTTP {}", response.status().as_u16())));
        }
        match collect(response.into_body(), limit).await.map_err(failed)? {
            Some(content) => Ok(content),
            None => Err(self.too_large(limit)),
        }
    }

    fn unreadable(&self, reason: impl Into<String>) -> SourceError {
        SourceError::Unreadable { source_name: self.name(), reason: reason.into() }
    }

    fn too_large(&self, limit: usize) -> SourceError {
        SourceError::TooLarge { source_name: self.name(), what: "bytes", limit }
    }
}

/// Says how long content is instead of showing it, and of a URL what errors may say.
impl fmt::Debug for Place {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Bytes { name, content } => write!(f, "Bytes({name:?}, {})", content.len()),
            Self::File(path) => write!(f, "File({})", path.display()),
            Self::Url(url) => write!(f, "Url({})", locator::shown(url)),
        }
    }
}

/// The file's content, or one byte more than `limit`. Only regular files: a pipe might never end.
fn read_file(path: &Path, limit: usize) -> io::Result<Vec<u8>> {
    if !fs::metadata(path)?.is_file() {
        return Err(io::Error::other("not a file"));
    }
    let mut content = Vec::new();
    fs::File::open(path)?.take((limit as u64).saturating_add(1)).read_to_end(&mut content)?;
    Ok(content)
}

/// The body, or `None` if it is longer than `limit`.
async fn collect(mut body: ResponseBody, limit: usize) -> Result<Option<Bytes>, ClientError> {
    let mut content = BytesMut::new();
    while let Some(frame) = body.frame().await {
        let Ok(data) = frame?.into_data() else { continue };
        if data.len() > limit - content.len() {
            return Ok(None);
        }
        content.extend_from_slice(&data);
    }
    Ok(Some(content.freeze()))
}

#[cfg(test)]
mod tests;
