//! How one resource may be spelled.

use std::borrow::Cow;

/// How far spellings of one resource are told apart.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Reading {
    /// As RFC 3986 §6.2 has it: what is equal here is the same resource to everybody.
    Strict,
    /// As servers may read it that decode it first, or take it for a path: what is equal here may be the same resource.
    Loose,
}

/// How often a spelling is simplified.
const ROUNDS: usize = 8;

/// The spellings of a name that may be a URI: as it is, and others that may mean the same. `None`: it is not simple even
/// after being simplified often, which nobody writes who has nothing to hide.
pub(crate) fn spellings(name: &str) -> Option<[Cow<'_, str>; 3]> {
    let of = |reading| canonical(name, reading);
    Some([Cow::Borrowed(name), of(Reading::Strict)?, of(Reading::Loose)?])
}

/// The one spelling that stands for all equal ones; what is no URI is its own. `None`: it takes too many rounds.
///
/// Equal: `%` and two digits and the character it stands for, `.` and `..` and what they lead to, letters of schemes and
/// hosts, the ports of http and https, and with and without a fragment; with `file:` also the host `localhost`, none, and
/// any number of slashes. Read loosely: all that is encoded but what would make it another kind of URI, `\` and `/`, the
/// part before `@` of an authority, the authority and the query with `file:`; and with a scheme that nobody but the
/// server knows the authority is the first part of the path.
pub(crate) fn canonical(name: &str, reading: Reading) -> Option<Cow<'_, str>> {
    let mut current = Cow::Borrowed(name);
    for _ in 0..ROUNDS {
        let next = simplified(&current, reading);
        if *next == *current {
            return Some(current);
        }
        current = Cow::Owned(next);
    }
    None
}

/// The same of a pattern: its wildcards stand for whatever they did. `None`: it is not told where they are.
pub(crate) fn canonical_pattern(pattern: &str, reading: Reading) -> Option<String> {
    const ANY: char = '\u{fdd0}';
    const ONE: char = '\u{fdd1}';
    if pattern.contains([ANY, ONE]) {
        return None;
    }
    let opaque = pattern.replace('*', "\u{fdd0}").replace('?', "\u{fdd1}");
    if leaves_a_wildcard(&opaque, &[ANY, ONE]) {
        return None;
    }
    // What may have any scheme is read as having none.
    let before = opaque.split([ANY, ONE]).next().unwrap_or_default();
    if before.len() < opaque.len() && !before.contains([':', '/']) {
        return Some(pattern.to_owned());
    }
    // A `?` that comes of decoding would be a wildcard.
    let simple = canonical(&opaque, reading).filter(|simple| !simple.contains(['*', '?']))?;
    Some(simple.replace(ANY, "*").replace(ONE, "?"))
}

/// Whether `..` stands after a wildcard, so that what is left out is not known.
fn leaves_a_wildcard(pattern: &str, wildcards: &[char]) -> bool {
    let after = pattern.find(wildcards).map(|at| decoded(&pattern[at..], Reading::Loose));
    after.is_some_and(|after| after.split(['/', '\\']).any(|segment| segment == ".."))
}

fn simplified(uri: &str, reading: Reading) -> String {
    let is_loose = reading == Reading::Loose;
    let trimmed: String = match is_loose {
        true => uri.trim().chars().filter(|c| !c.is_ascii_control()).collect(),
        false => uri.to_owned(),
    };
    let Some((scheme, rest)) = split_scheme(&trimmed) else {
        let slashes = is_loose || trimmed.starts_with('/');
        return if slashes && trimmed.contains('/') { path(&trimmed, true, reading) } else { trimmed };
    };
    let scheme = scheme.to_ascii_lowercase();
    let rest = rest.split_once('#').map_or(rest, |(before, _)| before);
    let (rest, query) = match rest.find('?') {
        Some(at) if is_loose && scheme == "file" => (&rest[..at], ""),
        Some(at) => rest.split_at(at),
        None => (rest, ""),
    };
    let query = decoded(query, reading);
    match scheme.as_str() {
        "file" => format!("file://{}{query}", of_file(rest, reading)),
        "http" | "https" | "ws" | "wss" | "ftp" => {
            format!("{scheme}:{}{query}", of_web(&scheme, rest, reading))
        }
        _ if is_loose => format!("{scheme}://{}{query}", as_path(rest)),
        _ => format!(
            "{scheme}:{}{query}",
            hierarchical(rest, |authority| lower(authority, reading), false, reading)
        ),
    }
}

/// Without the host that is meant anyway; loosely, without any.
fn of_file(rest: &str, reading: Reading) -> String {
    let rest =
        if reading == Reading::Loose { decoded(rest, reading).replace('\\', "/") } else { rest.to_owned() };
    let (authority, path_) = match rest.strip_prefix("//") {
        Some(rest) => rest.split_at(rest.find('/').unwrap_or(rest.len())),
        None => ("", rest.as_str()),
    };
    let host = match lower(authority, reading) {
        host if host == "localhost" || reading == Reading::Loose => String::new(),
        host => host,
    };
    format!("{host}/{}", path(path_, true, reading).trim_start_matches('/'))
}

/// Without the port that is meant anyway; loosely, without the user.
fn of_web(scheme: &str, rest: &str, reading: Reading) -> String {
    let port = if matches!(scheme, "https" | "wss") { ":443" } else { ":80" };
    let short = |authority: &str| {
        let host = match authority.rsplit_once('@') {
            Some((_, host)) if reading == Reading::Loose => host,
            _ => authority,
        };
        let host = lower(host, reading);
        let host = host.strip_suffix(port).or_else(|| host.strip_suffix(':')).unwrap_or(&host);
        let host = if reading == Reading::Loose { host.trim_end_matches('.') } else { host };
        host.to_owned()
    };
    let joined = hierarchical(rest, short, reading == Reading::Loose, reading);
    // An empty path is the root.
    match joined.strip_prefix("//") {
        Some(all) if !all.is_empty() && !all.contains('/') => format!("{joined}/"),
        _ => joined,
    }
}

/// `//AUTHORITY/PATH` or a path alone.
fn hierarchical(rest: &str, short: impl Fn(&str) -> String, collapse: bool, reading: Reading) -> String {
    match rest.strip_prefix("//") {
        Some(rest) => {
            let (authority, rest) = rest.split_at(rest.find('/').unwrap_or(rest.len()));
            format!("//{}{}", short(authority), path(rest, collapse, reading))
        }
        None => path(rest, collapse, reading),
    }
}

/// All of it as a path whose first part is the authority.
fn as_path(rest: &str) -> String {
    let all = path(&format!("/{}", rest.trim_start_matches('/')), true, Reading::Loose);
    let all = all.trim_start_matches('/');
    let (first, others) = all.split_at(all.find('/').unwrap_or(all.len()));
    format!("{}{others}", first.to_lowercase())
}

/// RFC 3986 §5.2.4, with what is encoded decoded before. Empty parts are left out if they mean nothing.
fn path(path: &str, collapse: bool, reading: Reading) -> String {
    let mut decoded = decoded(path, reading);
    if reading == Reading::Loose {
        decoded = decoded.replace('\\', "/");
    }
    let is_rooted = decoded.starts_with('/');
    if !is_rooted && !decoded.contains('/') {
        return decoded;
    }
    let parts: Vec<_> = decoded.split('/').collect();
    let last = parts.len() - 1;
    let mut kept: Vec<&str> = Vec::with_capacity(parts.len());
    for (at, part) in parts.iter().enumerate() {
        match *part {
            "." | ".." => {
                if *part == ".." && kept.len() > usize::from(is_rooted) {
                    kept.pop();
                }
                if at == last {
                    kept.push("");
                }
            }
            "" if collapse && at != 0 && at != last => {}
            part => kept.push(part),
        }
    }
    kept.join("/")
}

/// In small letters, without what is encoded for nothing.
fn lower(authority: &str, reading: Reading) -> String {
    decoded(authority, reading).to_lowercase()
}

/// The scheme (RFC 3986 §3.1), and what comes after its colon.
fn split_scheme(uri: &str) -> Option<(&str, &str)> {
    let (scheme, rest) = uri.split_once(':')?;
    let mut bytes = scheme.bytes();
    let is_scheme = bytes.next()?.is_ascii_alphabetic()
        && bytes.all(|b| b.is_ascii_alphanumeric() || matches!(b, b'+' | b'-' | b'.'));
    is_scheme.then_some((scheme, rest))
}

/// Without what is encoded for nothing: letters, digits, `-._~` and, beyond ASCII, whole characters; loosely, all that
/// leaves the parts of the URI where they are. The rest is written in one way.
fn decoded(text: &str, reading: Reading) -> String {
    if !text.contains('%') {
        return text.to_owned();
    }
    let bytes = text.as_bytes();
    let mut out = String::with_capacity(text.len());
    let mut at = 0;
    while at < bytes.len() {
        let run = encoded_run(&bytes[at..]);
        if run.is_empty() {
            let end = bytes[at + 1..].iter().position(|b| *b == b'%').map_or(bytes.len(), |n| at + 1 + n);
            out.push_str(&text[at..end]);
            at = end;
        } else {
            at += 3 * run.len();
            put(&run, reading, &mut out);
        }
    }
    out
}

/// The bytes that are encoded at the beginning.
fn encoded_run(bytes: &[u8]) -> Vec<u8> {
    let digit = |byte: u8| char::from(byte).to_digit(16).and_then(|digit| u8::try_from(digit).ok());
    let one = |triplet: &[u8]| match *triplet {
        [b'%', high, low] => Some(digit(high)? * 16 + digit(low)?),
        _ => None,
    };
    bytes.chunks(3).map_while(one).collect()
}

fn put(run: &[u8], reading: Reading, out: &mut String) {
    for chunk in run.utf8_chunks() {
        for character in chunk.valid().chars() {
            if is_plain(character, reading) {
                out.push(character);
            } else {
                character.encode_utf8(&mut [0; 4]).bytes().for_each(|byte| encode(byte, out));
            }
        }
        chunk.invalid().iter().for_each(|byte| encode(*byte, out));
    }
}

fn encode(byte: u8, out: &mut String) {
    const DIGITS: [char; 16] =
        ['0', '1', '2', '3', '4', '5', '6', '7', '8', '9', 'A', 'B', 'C', 'D', 'E', 'F'];
    out.push('%');
    out.extend([byte >> 4, byte & 15].map(|digit| DIGITS[usize::from(digit)]));
}

fn is_plain(character: char, reading: Reading) -> bool {
    match reading {
        Reading::Strict if character.is_ascii() => {
            character.is_ascii_alphanumeric() || matches!(character, '-' | '.' | '_' | '~')
        }
        // Of those that are wildcards in patterns no pattern could tell.
        Reading::Loose if character.is_ascii() => {
            !character.is_ascii_control() && !matches!(character, '%' | '?' | '#' | '*')
        }
        _ => !character.is_control() && !matches!(character, '\u{fdd0}' | '\u{fdd1}'),
    }
}

#[cfg(test)]
mod tests;
