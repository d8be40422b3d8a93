use std::{
    fs,
    path::{Component, Path, PathBuf},
};

use glob::{MatchOptions, Pattern};
use http::Uri;
use percent_encoding::percent_decode_str;

use super::{Place, SourceError, locator};

/// Where references from one document to others may lead (E-W21). Nowhere by default: a document from outside must
/// not make this process read files or ask internal hosts.
///
/// A document from a URL leads to URLs only, whatever is allowed here.
#[derive(Debug, Clone, Default)]
pub struct References {
    files: Vec<FileRule>,
    urls: Vec<Uri>,
}

#[derive(Debug, Clone)]
struct FileRule {
    /// Nothing outside of it matches.
    folder: PathBuf,
    /// What its path must look like below; `None`: anything.
    pattern: Option<Pattern>,
}

impl References {
    /// References lead nowhere.
    pub fn none() -> Self {
        Self::default()
    }

    /// Allows a file, everything below a folder, or what a glob matches, whose `*` does not cross `/` while `**` does.
    /// The part before the first wildcard is a folder; a link there is followed now, one further down must not lead
    /// out of it.
    ///
    /// # Errors
    /// The folder is not there, or the glob cannot be understood.
    pub fn with_files(mut self, path: &str) -> Result<Self, SourceError> {
        let refuse = |reason: String| SourceError::Unreadable { source_name: path.to_owned(), reason };
        let (folder, rest) = split_glob(Path::new(path));
        let folder = if folder.as_os_str().is_empty() { Path::new(".") } else { &folder };
        let folder = fs::canonicalize(folder).map_err(|error| refuse(error.to_string()))?;
        let pattern = match rest.as_os_str().is_empty() {
            true => None,
            false => Some(Pattern::new(&rest.to_string_lossy()).map_err(|error| refuse(error.to_string()))?),
        };
        self.files.push(FileRule { folder, pattern });
        Ok(self)
    }

    /// Allows the URLs that have this scheme, host and port, and whose path begins with all segments of this one's.
    /// A last `/` makes no difference.
    ///
    /// # Errors
    /// Not an `http` or `https` URL, or one with a user name, password or query.
    pub fn with_urls(mut self, prefix: &str) -> Result<Self, SourceError> {
        let url = locator::parse(prefix).and_then(|url| match url.query() {
            None => Ok(url),
            Some(_) => Err("a URL that others are to begin with has no query"),
        });
        let url = url.map_err(|reason| SourceError::Unreadable {
            source_name: "a URL that references may lead to".into(),
            reason: reason.into(),
        })?;
        self.urls.push(url);
        Ok(self)
    }

    /// Whether references lead nowhere.
    pub fn is_empty(&self) -> bool {
        self.files.is_empty() && self.urls.is_empty()
    }

    /// The place that `reference` means in the document at `base`: a URI reference, whose fragment is left aside. The
    /// place of a file is its canonical path, so that two ways to a document are one place; a document may always
    /// refer to itself, and that place is `base`. Looks at the file system, not at the file.
    ///
    /// # Errors
    /// It leads to where it must not, or to no place at all. Says nothing of whether there is a file that is not
    /// allowed.
    pub async fn resolve(&self, base: &Place, reference: &str) -> Result<Place, SourceError> {
        let refuse = |reason: &str| SourceError::Unreadable {
            source_name: base.name(),
            reason: format!("a reference to another document {reason}"),
        };
        let document = reference.split('#').next().unwrap_or_default();
        if document.is_empty() {
            return Ok(base.clone());
        }
        match locate(base, document).map_err(refuse)? {
            place @ Place::Url(_) if place == *base => Ok(place),
            Place::Url(url) if self.urls.iter().any(|prefix| is_below(&url, prefix)) => Ok(Place::Url(url)),
            Place::File(path) => {
                let (files, base) = (self.files.clone(), base.clone());
                let found = tokio::task::spawn_blocking(move || allowed_file(&files, &path, base)).await;
                found.ok().flatten().ok_or_else(|| refuse(NOT_ALLOWED))
            }
            _ => Err(refuse(NOT_ALLOWED)),
        }
    }
}

const NOT_ALLOWED: &str = "leads to where references may not lead, or to no file";

/// What the reference means, allowed or not.
fn locate(base: &Place, reference: &str) -> Result<Place, &'static str> {
    match (base, locator::scheme(reference)) {
        (_, Some(_)) if locator::is_url(reference) => locator::parse(reference).map(Place::Url),
        (Place::Url(base), None) => locator::join(base, reference).map(Place::Url),
        (Place::File(_), Some(scheme)) if scheme.eq_ignore_ascii_case("file") => {
            let path = reference.get("file:".len()..).unwrap_or_default();
            let path = path.strip_prefix("//localhost").or_else(|| path.strip_prefix("//")).unwrap_or(path);
            match path.starts_with('/') {
                true => decoded(path).map(Place::File),
                false => Err("names a file on another machine"),
            }
        }
        (Place::File(base), None) => {
            let folder = base.parent().unwrap_or_else(|| Path::new(""));
            Ok(Place::File(folder.join(decoded(reference)?)))
        }
        (Place::Bytes { .. }, None) => Err("is relative, and where the document comes from is not known"),
        _ => Err("has a scheme that is not read"),
    }
}

fn decoded(path: &str) -> Result<PathBuf, &'static str> {
    match percent_decode_str(path).decode_utf8() {
        Ok(path) if !path.contains('\0') => Ok(PathBuf::from(path.as_ref())),
        _ => Err("is not a file name"),
    }
}

/// The base, or the canonical path, if there is such a file and a rule allows it.
fn allowed_file(rules: &[FileRule], path: &Path, base: Place) -> Option<Place> {
    let path = fs::canonicalize(path).ok()?;
    match &base {
        Place::File(own) if fs::canonicalize(own).is_ok_and(|own| own == path) => Some(base),
        _ => rules.iter().any(|rule| rule.allows(&path)).then_some(Place::File(path)),
    }
}

impl FileRule {
    fn allows(&self, path: &Path) -> bool {
        // `Path` compares whole components, so `/srv/api` does not allow `/srv/api-private`.
        let Ok(below) = path.strip_prefix(&self.folder) else { return false };
        let options =
            MatchOptions { case_sensitive: true, require_literal_separator: true, ..Default::default() };
        self.pattern.as_ref().is_none_or(|pattern| pattern.matches_path_with(below, options))
    }
}

/// The components before the first with a wildcard, and those from it on.
fn split_glob(path: &Path) -> (PathBuf, PathBuf) {
    let is_plain =
        |component: &Component<'_>| !component.as_os_str().to_string_lossy().contains(['*', '?', '[']);
    let folder: PathBuf = path.components().take_while(is_plain).collect();
    let rest = path.components().skip_while(is_plain).collect();
    (folder, rest)
}

/// Compares what was parsed, never text: `http://localhost.evil` is not below `http://localhost` (security.md 2.6).
fn is_below(url: &Uri, prefix: &Uri) -> bool {
    let segments = |url: &Uri| -> Vec<String> {
        url.path().trim_end_matches('/').split('/').map(str::to_owned).collect()
    };
    url.scheme() == prefix.scheme()
        && url.authority() == prefix.authority()
        && segments(url).starts_with(&segments(prefix))
}

#[cfg(test)]
mod tests;
