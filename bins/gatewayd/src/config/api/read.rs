use bytes::Bytes;
use gateway_openapi::engine::{BaseUrl, Naming, RateLimit};
use gateway_openapi::source::{Place, References};

use super::model::{Api, CallLimits, Part};
use super::{auth, overrides, selector};
use crate::config::downstream::seconds;
use crate::config::gateway::{KIB, MIB};
use crate::config::problem::Fault;
use crate::config::reach;
use crate::config::reader::{Item, Table};
use crate::config::scalar;
use crate::demo::library;

/// What only an HTTP API has.
pub(in crate::config) const KEYS: [&str; 13] = [
    "openapi",
    "base_url",
    "references",
    "auth",
    "read_only",
    "include",
    "exclude",
    "overrides",
    "rate_limit",
    "max_concurrent",
    "max_response_bytes",
    "max_schema_bytes",
    "output_schemas",
];

/// What only an MCP server has, whatever it is reached by: who would write it expects something of it.
pub(in crate::config) const NOT_FOR_APIS: [&str; 7] = [
    "protocol",
    "probe_timeout",
    "sharing",
    "pool",
    "public_tool_list",
    "max_message_bytes",
    "max_call_time",
];

/// Reads what an API has. `None` if there was a problem, which is then recorded.
pub(in crate::config) fn read(table: &mut Table<'_>, naming: &Naming) -> Option<Api> {
    let is_api = table.has("openapi");
    let document = table.read("openapi", document);
    let place = table.take("base_url");
    if place.is_none() && is_api {
        table.report(Fault::new("an HTTP API needs a base_url").hint(
            "write base_url = \"https://host/path\"; the servers that its document names are not called",
        ));
    }
    let base_url = place.as_ref().and_then(|item| item.parsed(base_url));
    let headers = table.take("headers").and_then(|item| item.table());
    let headers = headers.map(|table| reach::headers(table, belongs_to_http)).unwrap_or_default();
    let auth = table.take("auth").and_then(|item| item.table()).map(auth::read_all).unwrap_or_default();
    if let (Some(item), Some(url)) = (&place, &base_url)
        && !(headers.is_empty() && auth.is_empty())
        && reach::is_in_the_clear(url.uri())
    {
        item.note("headers and credentials travel unencrypted over http".to_owned());
    }
    let part = part(table, naming);
    let limits = limits(table);
    let references = table.list("references", reference).unwrap_or_default();
    let certificates = table.read("ca_file", reach::certificates);
    let connect_timeout = seconds(table, "connect_timeout", 10);
    let (document, base_url) = (document?, base_url?);
    Some(Api { document, references, base_url, headers, auth, part, limits, certificates, connect_timeout })
}

fn part(table: &mut Table<'_>, naming: &Naming) -> Part {
    let overrides = table.take("overrides").and_then(|item| item.table());
    Part {
        read_only: table.read("read_only", scalar::flag).unwrap_or(true),
        include: selector::read_all(table, "include"),
        exclude: selector::read_all(table, "exclude"),
        overrides: overrides.map(|table| overrides::read_all(table, naming)).unwrap_or_default(),
        output_schemas: table.read("output_schemas", scalar::flag).unwrap_or(true),
        max_schema_bytes: table.read("max_schema_bytes", scalar::size(KIB..=MIB)).unwrap_or(24 * KIB),
    }
}

fn limits(table: &mut Table<'_>) -> CallLimits {
    CallLimits {
        rate: table.take("rate_limit").and_then(|item| item.table()).and_then(rate_limit),
        concurrent: table.read("max_concurrent", scalar::count(1..=10_000)).unwrap_or(32),
        response_bytes: table.read("max_response_bytes", response_bytes).unwrap_or(256 * KIB),
    }
}

/// A file, which need not be there yet, or a URL.
fn document(item: &Item<'_>) -> Result<Place, Fault> {
    let text = scalar::word(item)?;
    if text == library::PLACE {
        return built_in(item);
    }
    if !is_url(&text) {
        return scalar::path(item).map(Place::File);
    }
    let url = reach::url(item)?;
    if reach::is_in_the_clear(&url) {
        item.note(
            "the document travels unencrypted over http; whoever is on its way can change it".to_owned(),
        );
    }
    Ok(Place::Url(url))
}

/// The demonstration's own, whose API is not on any network either.
fn built_in(item: &Item<'_>) -> Result<Place, Fault> {
    if !item.is_built_in() {
        let fault = Fault::new("belongs to the demonstration that runs where there is no configuration");
        return Err(fault.hint("name a file or a URL"));
    }
    let content = Bytes::from_static(library::DESCRIPTION.as_bytes());
    Ok(Place::Bytes { name: library::PLACE.to_owned(), content })
}

fn is_url(text: &str) -> bool {
    text.contains("://")
}

fn base_url(item: &Item<'_>) -> Result<BaseUrl, Fault> {
    let url = reach::url(item)?;
    if url.query().is_some() {
        let fault = Fault::new("a base URL has no query");
        return Err(
            fault.hint("a key that belongs there is written as auth = { SCHEME = { env = \"NAME\" } }")
        );
    }
    BaseUrl::parse(&url.to_string()).map_err(|error| Fault::new(error.to_string()))
}

/// Where the document may refer to: a URL with everything below it, or a file, a folder or a glob.
fn reference(item: &Item<'_>) -> Result<String, Fault> {
    let text = scalar::word(item)?;
    if is_url(&text) {
        let checked = References::none().with_urls(&text);
        return checked.map(|_| text).map_err(|error| Fault::new(error.to_string()));
    }
    let path = scalar::path(item)?.display().to_string();
    if item.is_dormant() {
        return Ok(path);
    }
    References::none().with_files(&path).map(|_| path).map_err(|error| Fault::new(error.to_string()))
}

/// Headers that the connection or the body decides.
fn belongs_to_http(name: &str) -> bool {
    const NAMES: [&str; 8] =
        ["host", "transfer-encoding", "connection", "upgrade", "te", "trailer", "expect", "keep-alive"];
    NAMES.contains(&name)
        || name == "accept-encoding"
        || name.starts_with("content-")
        || name.starts_with("proxy-")
}

/// `{ per_second = 5, burst = 10 }`.
pub(super) fn rate_limit(mut table: Table<'_>) -> Option<RateLimit> {
    if !table.has("per_second") {
        table
            .report(Fault::new("a rate limit needs per_second").hint("write { per_second = 5, burst = 10 }"));
    }
    let per_second = table.read("per_second", scalar::number(0.001..=1e6));
    let burst = table.read("burst", scalar::count(1..=1_000_000));
    table.finish();
    let per_second = per_second?;
    let burst = burst.and_then(|burst| u32::try_from(burst).ok());
    // What comes in a second, and at least one: else nothing could be called.
    Some(RateLimit { per_second, burst: burst.unwrap_or_else(|| per_second.ceil() as u32).max(1) })
}

/// Bytes of what is read, or 0 for all of it. No more than this is read of any answer.
pub(super) fn response_bytes(item: &Item<'_>) -> Result<usize, Fault> {
    scalar::size(0..=16 * MIB)(item)
}
