//! URLs and references between documents (RFC 3986), as far as documents need them.

use http::Uri;

/// Whether the text is meant as a URL that can be fetched.
pub(super) fn is_url(text: &str) -> bool {
    matches!(scheme(text), Some(scheme) if ["http", "https"].iter().any(|s| scheme.eq_ignore_ascii_case(s)))
}

/// The scheme at the beginning of a reference (§3.1), if it has one.
pub(super) fn scheme(text: &str) -> Option<&str> {
    let (scheme, _) = text.split_once(':')?;
    let mut letters = scheme.chars();
    let is_scheme = letters.next().is_some_and(|first| first.is_ascii_alphabetic())
        && letters.all(|c| c.is_ascii_alphanumeric() || "+-.".contains(c));
    is_scheme.then_some(scheme)
}

/// A URL that can be fetched, in its normal form: lower-case host, no default port, no dot segments, no fragment.
pub(super) fn parse(text: &str) -> Result<Uri, &'static str> {
    let text = text.split('#').next().unwrap_or_default();
    let url: Uri = text.parse().map_err(|_| "not a URL")?;
    let scheme =
        url.scheme_str().filter(|scheme| is_url(&format!("{scheme}:"))).ok_or("neither http nor https")?;
    let authority = authority(&url, scheme)?;
    let path = without_dots(url.path())?;
    let query = url.query().map(|query| format!("?{query}")).unwrap_or_default();
    format!("{scheme}://{authority}{path}{query}").parse().map_err(|_| "not a URL")
}

/// The URL that `reference`, which has no scheme, means in a document at `base` (§5.2).
pub(super) fn join(base: &Uri, reference: &str) -> Result<Uri, &'static str> {
    let scheme = base.scheme_str().unwrap_or_default();
    let host = base.authority().map_or("", |authority| authority.as_str());
    let folder = base.path().rsplit_once('/').map_or("", |(folder, _)| folder);
    match reference {
        "" => Ok(base.clone()),
        _ if reference.starts_with("//") => parse(&format!("{scheme}:{reference}")),
        _ if reference.starts_with('/') => parse(&format!("{scheme}://{host}{reference}")),
        _ if reference.starts_with('?') => parse(&format!("{scheme}://{host}{}{reference}", base.path())),
        _ => parse(&format!("{scheme}://{host}{folder}/{reference}")),
    }
}

/// A URL without what may be secret in it.
pub(super) fn shown(url: &Uri) -> String {
    let host = url.authority().map_or("", |authority| authority.as_str());
    let host = host.rsplit('@').next().unwrap_or_default();
    format!("{}://{host}{}", url.scheme_str().unwrap_or("http"), url.path())
}

fn authority(url: &Uri, scheme: &str) -> Result<String, &'static str> {
    let authority = url.authority().ok_or("it has no host")?;
    if authority.as_str().contains('@') {
        return Err("a URL may not hold a user name or password");
    }
    let host = authority.host().to_ascii_lowercase();
    let default = if scheme == "https" { 443 } else { 80 };
    match authority.port() {
        // `http` leaves a port that is no number to whoever asks for it.
        None if authority.as_str().len() != host.len() => Err("its port is not a number"),
        Some(port) if port.as_u16() != default => Ok(format!("{host}:{}", port.as_u16())),
        _ => Ok(host),
    }
}

/// The path without its dot segments (§5.2.4). Segments that some servers would read as dot segments or as several are
/// refused: what is compared must be what is asked for (security.md T16).
fn without_dots(path: &str) -> Result<String, &'static str> {
    let mut kept: Vec<&str> = Vec::new();
    let mut segments = path.strip_prefix('/').unwrap_or(path).split('/').peekable();
    while let Some(segment) = segments.next() {
        let is_last = segments.peek().is_none();
        match segment {
            "." | ".." => {
                if segment == ".." {
                    kept.pop();
                }
                if is_last {
                    kept.push("");
                }
            }
            _ if is_ambiguous(segment) => return Err("its path holds encoded dots, slashes or backslashes"),
            _ => kept.push(segment),
        }
    }
    Ok(format!("/{}", kept.join("/")))
}

fn is_ambiguous(segment: &str) -> bool {
    let lower = segment.to_ascii_lowercase();
    let dots = lower.replace("%2e", ".");
    // A `%25` in front may be decoded twice somewhere.
    let encoded = ["%2f", "%5c", "%25", "%00", "\\"].iter().any(|odd| lower.contains(odd));
    encoded || matches!(dots.as_str(), "." | "..") || dots.starts_with("..;") || dots.starts_with(".;")
}

#[cfg(test)]
mod tests;
