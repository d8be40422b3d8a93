//! Parameters: those of the path item, overridden by those of the operation (E-W5).

use gateway_domain::RawJson;

use super::{Inputs, Reader, Template};
use crate::{
    ir::{Location, Param, ParamFormat, Style},
    source::openapi::{
        fault::Fault,
        library::{Item, Node},
        media::{self, Content},
        object::{cut, flag, object},
    },
};

/// The most parameters of one operation.
const MOST_PARAMETERS: usize = 256;

/// Headers that are set by other means; parameters of such a name are ignored (OpenAPI 3.1 §4.8.12.2).
const IGNORED_HEADERS: [&str; 3] = ["accept", "content-type", "authorization"];

/// A parameter whose schema is converted only if no other takes its place.
#[derive(Debug)]
struct Draft {
    param: Param,
    schema: Option<Node>,
    /// `allowEmptyValue`.
    may_be_empty: bool,
}

impl Draft {
    fn made(name: &str, location: Location, schema: &str) -> Self {
        let mut param = Param::new(name, location);
        param.schema = RawJson::parse(schema.to_owned()).ok();
        Self { param, schema: None, may_be_empty: false }
    }
}

impl Reader<'_> {
    /// Reads lists of parameters, the one of the path item first.
    pub(super) fn parameters(
        &mut self,
        lists: [Option<Node>; 2],
        template: &Template<'_>,
        inputs: &mut Inputs,
        notes: &mut Vec<String>,
    ) -> Result<Vec<Param>, Fault> {
        let mut drafts: Vec<Draft> = Vec::new();
        for list in lists.into_iter().flatten() {
            for node in items(&list)? {
                let Some(draft) = self.parameter(&node, notes)? else { continue };
                match drafts.iter_mut().find(|known| is_same(&known.param, &draft.param)) {
                    Some(known) => *known = draft,
                    None => drafts.push(draft),
                }
            }
        }
        agree(&mut drafts, &template.placeholders);
        fix(&mut drafts, &template.query);
        check_query(&drafts)?;
        Ok(drafts.into_iter().map(|draft| self.converted(draft, inputs)).collect())
    }

    /// `None`: it is to be ignored. One that cannot be sent is, with a note, if the API does without.
    fn parameter(&self, node: &Node, notes: &mut Vec<String>) -> Result<Option<Draft>, Fault> {
        let item = self.resolver.item(node).map_err(|fault| fault.within("a parameter"))?;
        let found = match item.object().get_text("name").filter(|name| !name.is_empty()) {
            Some(name) => {
                self.named(&item, &name).map_err(|fault| fault.within(format_args!("the parameter {name:?}")))
            }
            None => Err(Fault::new("a parameter has no name")),
        };
        match found {
            Err(fault) if !is_required(&item) => {
                notes.push(cut(&format!("left out: {fault}")).to_owned());
                Ok(None)
            }
            found => found,
        }
    }

    fn named(&self, item: &Item, name: &str) -> Result<Option<Draft>, Fault> {
        let location = location(item)?;
        if location == Location::Header && IGNORED_HEADERS.iter().any(|h| name.eq_ignore_ascii_case(h)) {
            return Ok(None);
        }
        let content = if item.object().contains("schema") { None } else { self.only_content(item)? };
        let (format, schema) = match content {
            Some((media_type, schema)) => (by_content(&media_type, location)?, schema),
            None if location == Location::QueryString => {
                return Err(Fault::new("it is the whole query, and has no content"));
            }
            None => (styled(item, location)?, item.get("schema")),
        };
        let required = is_required(item);
        let description = self.described(item);
        let param = Param { name: name.to_owned(), location, required, description, schema: None, format };
        let may_be_empty = location == Location::Query && flag(item.object(), "allowEmptyValue");
        Ok(Some(Draft { param, schema, may_be_empty }))
    }

    /// The one media type that a parameter may have in place of a style.
    fn only_content(&self, item: &Item) -> Result<Option<(String, Option<Node>)>, Fault> {
        let Some(content) = item.get("content") else { return Ok(None) };
        let members = object(&content.value).ok_or_else(|| Fault::new("its content is not an object"))?;
        let mut entries = members.iter();
        match (entries.next(), entries.next()) {
            (None, _) => Ok(None),
            (Some((media_type, entry)), None) => {
                let entry = self.resolver.item(&content.with(entry))?;
                Ok(Some((media_type.into_owned(), entry.get("schema"))))
            }
            _ => Err(Fault::new("it has more than one media type")),
        }
    }

    fn converted(&mut self, draft: Draft, inputs: &mut Inputs) -> Param {
        let Draft { mut param, schema, may_be_empty } = draft;
        if let Some(node) = schema {
            let converted = self.schemas.convert(&node);
            param.schema = Some(match may_be_empty {
                true => or_nothing(&converted.schema),
                false => converted.schema.clone(),
            });
            inputs.add(format!("the parameter {:?}", param.name), converted);
        }
        let texts = param.name.len() + param.description.as_ref().map_or(0, String::len);
        self.schemas.charge(size_of::<Param>() + texts);
        param
    }
}

/// One in the path always is.
fn is_required(item: &Item) -> bool {
    flag(item.object(), "required") || item.object().get_text("in").is_some_and(|place| place == "path")
}

fn items(list: &Node) -> Result<Vec<Node>, Fault> {
    let items = list.value.elements(MOST_PARAMETERS);
    let items = items
        .ok_or_else(|| Fault::new(format!("its parameters are not a list of at most {MOST_PARAMETERS}")))?;
    Ok(items.into_iter().map(|item| list.with(item)).collect())
}

/// Names of headers are the same in any case.
fn is_same(one: &Param, other: &Param) -> bool {
    one.location == other.location
        && match one.location {
            Location::Header => one.name.eq_ignore_ascii_case(&other.name),
            _ => one.name == other.name,
        }
}

/// The path says which parameters there are in it: one that it does not have cannot be sent, one that is not declared
/// is a text.
fn agree(drafts: &mut Vec<Draft>, placeholders: &[&str]) {
    drafts.retain(|Draft { param, .. }| {
        param.location != Location::Path || placeholders.contains(&param.name.as_str())
    });
    for name in placeholders {
        let is_declared = |draft: &Draft| draft.param.location == Location::Path && draft.param.name == *name;
        if !drafts.iter().any(is_declared) {
            drafts.push(Draft::made(name, Location::Path, r#"{"type":"string"}"#));
        }
    }
}

/// A query in the path is sent like any other: it is a parameter with one possible value.
fn fix(drafts: &mut Vec<Draft>, query: &[(String, String)]) {
    for (name, value) in query {
        let is_declared =
            |draft: &Draft| draft.param.location == Location::Query && draft.param.name == *name;
        if !drafts.iter().any(is_declared) {
            let schema = format!(r#"{{"type":"string","const":{}}}"#, RawJson::string(value));
            let mut draft = Draft::made(name, Location::Query, &schema);
            draft.param.required = true;
            drafts.push(draft);
        }
    }
}

fn check_query(drafts: &[Draft]) -> Result<(), Fault> {
    let count = |location| drafts.iter().filter(|draft| draft.param.location == location).count();
    match (count(Location::QueryString), count(Location::Query)) {
        (0, _) | (1, 0) => Ok(()),
        _ => Err(Fault::new("a parameter that is the whole query stands beside others in the query")),
    }
}

fn location(item: &Item) -> Result<Location, Fault> {
    let word = item.object().get_text("in").unwrap_or_default();
    match word.as_str() {
        "path" => Ok(Location::Path),
        "query" => Ok(Location::Query),
        "querystring" => Ok(Location::QueryString),
        "header" => Ok(Location::Header),
        "cookie" => Ok(Location::Cookie),
        "" => Err(Fault::new("it does not say where it is sent")),
        _ => {
            let shown: String = word.chars().take(40).collect();
            Err(Fault::new(format!("there is no place {shown:?} to send it")))
        }
    }
}

fn styled(item: &Item, location: Location) -> Result<ParamFormat, Fault> {
    let fallback = ParamFormat::of(location);
    let given = item.object().get_text("style");
    let style = match (&given, &fallback) {
        (None, ParamFormat::Styled { style, .. }) => *style,
        (None, ParamFormat::Content { .. }) => return Ok(fallback),
        (Some(name), _) => Style::parse(name).filter(|style| style.fits(location)).ok_or_else(|| {
            let shown: String = name.chars().take(40).collect();
            Fault::new(format!("the style {shown:?} is none for a parameter in {}", location.as_str()))
        })?,
    };
    let explode = item.object().get("explode").and_then(|value| value.to_bool());
    Ok(ParamFormat::Styled {
        style,
        explode: explode.unwrap_or(matches!(style, Style::Form | Style::Cookie)),
        allow_reserved: location == Location::Query && flag(item.object(), "allowReserved"),
    })
}

/// JSON and forms have a rule of their own; a text is what it is in the default style.
fn by_content(media_type: &str, location: Location) -> Result<ParamFormat, Fault> {
    match media::content(media_type) {
        Content::Json => Ok(ParamFormat::Content { media_type: media_type.to_owned() }),
        Content::Form if matches!(location, Location::Query | Location::QueryString) => {
            Ok(ParamFormat::Content { media_type: media_type.to_owned() })
        }
        Content::Text if location != Location::QueryString => Ok(ParamFormat::of(location)),
        _ => {
            let shown: String = media_type.chars().take(80).collect();
            Err(Fault::new(format!("nothing is known of how to write it as {shown:?}")))
        }
    }
}

/// What also accepts the empty text.
fn or_nothing(schema: &RawJson) -> RawJson {
    let either = format!(r#"{{"anyOf":[{schema},{{"const":""}}]}}"#);
    RawJson::parse(either).unwrap_or_else(|_| schema.clone())
}
