use gateway_domain::RawJson;

use crate::{
    engine::{
        CallError,
        request::{
            encode::component,
            value::{Wire, text, unfit},
        },
    },
    ir::{Param, ParamFormat, Style},
};

/// Appends the value in the parameter's style (RFC 6570 §3.2.2, §3.2.5 and §3.2.7).
pub(super) fn write(out: &mut String, param: &Param, value: &RawJson) -> Result<(), CallError> {
    let name = &param.name;
    let (style, explode) = match &param.format {
        ParamFormat::Styled { style, explode, .. } => (*style, *explode),
        ParamFormat::Content { media_type } => {
            let content =
                if media_type.contains("json") { Some(value.as_str().to_owned()) } else { text(value) };
            out.push_str(&component(&content.ok_or_else(|| empty(name))?));
            return Ok(());
        }
    };
    let value = match Wire::of(name, value)? {
        Wire::Undefined => return Err(empty(name)),
        value => value,
    };
    match style {
        Style::Label => label(out, name, &value, explode)?,
        Style::Matrix => matrix(out, name, &value, explode),
        _ => out.push_str(&simple(&value, explode)),
    }
    Ok(())
}

fn empty(name: &str) -> CallError {
    unfit(name, "must not be empty: it is part of the path")
}

/// `a,b`, `k,v` or `k=v`.
fn simple(value: &Wire, explode: bool) -> String {
    let pair = if explode { "=" } else { "," };
    match value {
        Wire::Undefined => String::new(),
        Wire::Text(text) => component(text).into_owned(),
        Wire::List(items) => joined(items.iter().map(|item| component(item).into_owned()), ","),
        Wire::Members(members) => joined(pairs(members, pair), ","),
    }
}

/// `.a,b`, or `.a.b` if exploded.
fn label(out: &mut String, name: &str, value: &Wire, explode: bool) -> Result<(), CallError> {
    out.push('.');
    if !explode {
        out.push_str(&simple(value, false));
        return Ok(());
    }
    let is_divided = |text: &String| text.contains('.');
    let text = match value {
        Wire::List(items) if items.iter().any(is_divided) => None,
        Wire::Members(members) if members.iter().any(|(key, value)| is_divided(key) || is_divided(value)) => {
            None
        }
        Wire::List(items) => Some(joined(items.iter().map(|item| component(item).into_owned()), ".")),
        Wire::Members(members) => Some(joined(pairs(members, "="), ".")),
        other => Some(simple(other, true)),
    };
    out.push_str(
        &text.ok_or_else(|| unfit(name, "must not have '.' in its parts: that is what divides them"))?,
    );
    Ok(())
}

/// `;name=a,b`, or `;name=a;name=b` and `;k=v` if exploded. Without `=` where there is nothing after it.
fn matrix(out: &mut String, name: &str, value: &Wire, explode: bool) {
    let name = component(name).into_owned();
    let members: Vec<(String, String)> = match value {
        Wire::List(items) if explode => {
            items.iter().map(|item| (name.clone(), component(item).into_owned())).collect()
        }
        Wire::Members(members) if explode => members
            .iter()
            .map(|(key, value)| (component(key).into_owned(), component(value).into_owned()))
            .collect(),
        other => vec![(name, simple(other, false))],
    };
    for (key, value) in members {
        out.push(';');
        out.push_str(&key);
        if !value.is_empty() {
            out.push('=');
            out.push_str(&value);
        }
    }
}

fn pairs<'a>(members: &'a [(String, String)], between: &'a str) -> impl Iterator<Item = String> + 'a {
    members.iter().map(move |(key, value)| format!("{}{between}{}", component(key), component(value)))
}

fn joined(parts: impl Iterator<Item = String>, between: &str) -> String {
    parts.collect::<Vec<_>>().join(between)
}
