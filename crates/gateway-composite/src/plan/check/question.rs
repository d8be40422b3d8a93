//! What may be asked (C-34, C-66): clients show a form, so the schema is one flat object (protocol.md §11.5).

use gateway_domain::{JsonKind, RawJson, RawObject};

use crate::{
    definition::{ElicitationStep, Place, Problem, hint, listed, shown},
    schema::{Formats, Schema},
};

/// How many bytes a schema may have (C-66).
const MAX_BYTES: usize = 100 * 1024;

/// How many levels it may have (C-66).
const MAX_LEVELS: usize = 10;

/// Looks at the message and the schema of a question.
pub(super) fn check(place: &Place, question: &ElicitationStep) -> Vec<Problem> {
    let mut problems = Vec::new();
    if question.message.trim().is_empty() {
        problems.push(place.member("message").problem("is required; say what the user is asked for"));
    }
    let form = Form { place: place.member("schema"), schema: &question.schema };
    match form.size() {
        Some(problem) => problems.push(problem),
        None => form.check(&mut problems),
    }
    problems
}

struct Form<'a> {
    place: Place,
    schema: &'a RawObject,
}

impl Form<'_> {
    fn size(&self) -> Option<Problem> {
        let (bytes, levels) = (self.schema.as_str().len(), self.schema.raw().depth());
        if self.schema.is_empty() {
            Some(self.place.problem("is required; it says what fields the form has"))
        } else if bytes > MAX_BYTES {
            Some(self.place.problem(format!("has {bytes} bytes, but may have {MAX_BYTES}")))
        } else if levels > MAX_LEVELS {
            Some(self.place.problem(format!("has {levels} levels, but may have {MAX_LEVELS}")))
        } else {
            None
        }
    }

    fn check(&self, problems: &mut Vec<Problem>) {
        if self.schema.get_text("type").as_deref() != Some("object") {
            problems.push(
                self.place.member("type").problem("must be `object`; its properties are the form's fields"),
            );
        }
        unknown(&self.place, self.schema, FORM, problems);
        let place = self.place.member("properties");
        // Without any it is a question of yes or no. That it is no valid schema is said where it is compiled.
        let properties = self.schema.get("properties").unwrap_or_else(|| RawObject::empty().raw().clone());
        let Ok(properties) = RawObject::try_from(properties) else { return };
        for (name, field) in properties.iter() {
            check_field(&place.member(&name), &field, problems);
        }
        let required = self.schema.get("required").and_then(|names| names.elements(usize::MAX));
        for (at, name) in required.into_iter().flatten().enumerate() {
            let name = name.to_text().unwrap_or_default();
            if !properties.contains(&name) {
                let names: Vec<_> = properties.iter().map(|(name, _)| name.into_owned()).collect();
                let names: Vec<_> = names.iter().map(String::as_str).collect();
                let hint = hint(&name, &names);
                let message = format!("names `{}`, but there is no such property{hint}", shown(&name));
                problems.push(self.place.member("required").element(at).problem(message));
            }
        }
    }
}

fn check_field(place: &Place, field: &RawJson, problems: &mut Vec<Problem>) {
    let Ok(field) = RawObject::try_from(field.clone()) else {
        problems.push(place.problem("must be a schema, which is an object"));
        return;
    };
    let own: &[&str] = match field.get_text("type").as_deref() {
        Some("string") => &["minLength", "maxLength", "format", "enum", "enumNames", "oneOf"],
        Some("number" | "integer") => &["minimum", "maximum"],
        Some("boolean") => &[],
        Some("array") => &["items", "minItems", "maxItems"],
        _ => {
            problems.push(place.member("type").problem(
                "must be `string`, `number`, `integer`, `boolean`, or `array` for several choices: forms are flat",
            ));
            return;
        }
    };
    unknown(place, &field, &[FIELD, own].concat(), problems);
    let format =
        field.get("format").filter(|format| !FORMATS.contains(&&*format.to_text().unwrap_or_default()));
    if format.is_some() {
        problems.push(place.member("format").problem(format!("must be one of {}", listed(FORMATS))));
    }
    problems.extend(choices(place, &field));
    problems.extend(default(place, &field));
}

/// Lists of choices: `enum`, or `oneOf` with titles; for several of them within `items`, there `anyOf`.
fn choices(place: &Place, field: &RawObject) -> Option<Problem> {
    let items = match (field.get("items"), field.get_text("type").as_deref()) {
        (Some(items), _) => items,
        (None, Some("array")) => {
            return Some(place.member("items").problem("is required; it says what the choices are"));
        }
        (None, _) => return untitled(place, field).or_else(|| titled(place, field, "oneOf")),
    };
    let place = place.member("items");
    match RawObject::try_from(items).ok().filter(|items| items.contains("enum") || items.contains("anyOf")) {
        Some(items) => untitled(&place, &items).or_else(|| titled(&place, &items, "anyOf")),
        None => Some(place.problem("must be an object with `enum`, or with `anyOf` for choices with titles")),
    }
}

fn untitled(place: &Place, field: &RawObject) -> Option<Problem> {
    let choices = field.get("enum")?;
    let choices = choices.elements(usize::MAX).unwrap_or_default();
    let is_list_of_texts =
        !choices.is_empty() && choices.iter().all(|choice| choice.kind() == JsonKind::String);
    (!is_list_of_texts).then(|| place.member("enum").problem("must be a list of at least one text"))
}

fn titled(place: &Place, field: &RawObject, name: &str) -> Option<Problem> {
    let choices = field.get(name)?;
    let choices = choices.elements(usize::MAX).unwrap_or_default();
    let is_choice = |choice: RawJson| {
        let choice = RawObject::try_from(choice).unwrap_or_default();
        choice.get_text("const").is_some() && choice.get_text("title").is_some()
    };
    let is_list_of_choices = !choices.is_empty() && choices.into_iter().all(is_choice);
    (!is_list_of_choices).then(|| {
        place
            .member(name)
            .problem("must be a list of at least one choice, each with the texts `const` and `title`")
    })
}

fn default(place: &Place, field: &RawObject) -> Option<Problem> {
    let default = field.get("default")?;
    let cause = Schema::compile(field, Formats::Asserted).ok()?.check(&default).err()?;
    Some(place.member("default").problem("must fit the field itself").because(cause))
}

fn unknown(place: &Place, object: &RawObject, known: &[&str], problems: &mut Vec<Problem>) {
    for (name, _) in object.iter().filter(|(name, _)| !known.contains(&&**name)) {
        let message = format!("is nothing that a form can show; write one of {}", listed(known));
        problems.push(place.member(&name).problem(message));
    }
}

const FORM: &[&str] =
    &["$schema", "type", "title", "description", "properties", "required", "additionalProperties"];

const FIELD: &[&str] = &["type", "title", "description", "default"];

const FORMATS: &[&str] = &["email", "uri", "date", "date-time"];
