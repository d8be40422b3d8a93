use http::Uri;

use super::{
    Asked, BaseUrl,
    path::{self, Template},
    query::{self, Member},
    value::{check_present, unfit},
};
use crate::{
    engine::{CallError, inputs::reserves},
    ir::{Location, Param},
};

/// The longest URI that is sent, in bytes: what `http` can hold.
const LONGEST: usize = 65_534;

/// The URI of a request, read back and compared with what it must be.
pub(super) fn write(base: &BaseUrl, asked: &Asked<'_>) -> Result<Uri, CallError> {
    let template = Template::read(&asked.operation.path);
    let values = asked.params(Location::Path)?;
    let value = |name: &str| {
        let found = values.iter().find(|(param, _)| param.name == name);
        found.cloned().ok_or_else(|| CallError::Request {
            reason: format!("there is no value for {{{name}}} in the path of the operation"),
        })
    };
    let path = path::write(&template, &value)?;
    if base.prefix().is_empty() && path.starts_with("//") {
        return Err(astray("its path would begin with two slashes, as the name of a server does"));
    }
    let query = members(&template, asked)?;
    let text = match query.is_empty() {
        true => format!("{}{}{path}", base.origin(), base.prefix()),
        false => format!("{}{}{path}?{query}", base.origin(), base.prefix()),
    };
    if text.len() > LONGEST {
        return Err(CallError::Arguments { reason: format!("the URL would be longer than {LONGEST} bytes") });
    }
    let uri: Uri = text.parse().map_err(|_| astray("it is no URI"))?;
    compare(&uri, base, &path, &query, template.count())?;
    Ok(uri)
}

/// Everything here holds by construction; that it does is what keeps arguments from choosing another place, so it is
/// looked at (T16).
fn compare(uri: &Uri, base: &BaseUrl, path: &str, query: &str, segments: usize) -> Result<(), CallError> {
    if uri.scheme() != base.uri().scheme() || uri.authority() != base.uri().authority() {
        return Err(astray("it would go to another server"));
    }
    if uri.path().strip_prefix(base.prefix()) != Some(path) || uri.query().unwrap_or_default() != query {
        return Err(astray("its path or query would be another one"));
    }
    match path.split('/').skip(1).count() == segments {
        true => Ok(()),
        false => Err(astray("its path would have more or fewer segments")),
    }
}

fn astray(reason: &str) -> CallError {
    CallError::Request { reason: reason.to_owned() }
}

/// The query, sorted by name and stable within one (E-19).
fn members(template: &Template<'_>, asked: &Asked<'_>) -> Result<String, CallError> {
    let mut members: Vec<_> = template.query().map(Member::literal).collect();
    members.extend(asked.extras.query.iter().map(|(name, value)| Member::new(name, value)));
    for location in [Location::Query, Location::QueryString] {
        for (param, value) in asked.params(location)? {
            let written = query::param(param, &value)?;
            check_present(param, !written.is_empty())?;
            check_free(param, &written, asked)?;
            members.extend(written);
        }
    }
    members.sort_by(|a, b| a.key.cmp(&b.key));
    Ok(members.into_iter().map(|member| member.text).collect::<Vec<_>>().join("&"))
}

/// Refuses an object whose members would become credentials or another parameter. What begins with the parameter's own
/// name, as in `deepObject`, may stand beside parameters that begin so too: `filter[a]` is not `filter[b]`.
fn check_free(param: &Param, members: &[Member], asked: &Asked<'_>) -> Result<(), CallError> {
    let template = Template::read(&asked.operation.path);
    let fixed: Vec<_> = template.query().map(|member| Member::literal(member).key).collect();
    let taken = |name: &str| {
        let set = asked.extras.query.iter().map(|(name, _)| name.as_str());
        let reserved = asked.inputs.reserved().query.iter().map(String::as_str);
        let mut others = asked.declared(Location::Query, param).chain(fixed.iter().map(String::as_str));
        let is_other = match is_within(name, &param.name) {
            true => others.any(|other| is_within(name, other) || is_within(other, name)),
            false => reserves(name, others),
        };
        is_other || reserves(name, set.chain(reserved))
    };
    match members.iter().find(|member| member.is_free && taken(&member.key)) {
        None => Ok(()),
        Some(_) => {
            Err(unfit(&param.name, "must not have a member that is called like another part of the query"))
        }
    }
}

/// Whether a member is the one of this name, or a part of it to servers that read brackets.
fn is_within(member: &str, name: &str) -> bool {
    let (Some(start), Some(rest)) = (member.get(..name.len()), member.get(name.len()..)) else {
        return false;
    };
    start.eq_ignore_ascii_case(name) && (rest.is_empty() || rest.starts_with('['))
}
