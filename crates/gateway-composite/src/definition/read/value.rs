use gateway_domain::{JsonError, JsonKind, RawJson, RawObject};

use super::{
    super::{Draft, Flaws, Problem, listed, nearest, place::Place, shown},
    members::Members,
};

/// What was read, or everything that is wrong with it.
pub(super) type Read<T> = Result<T, Vec<Problem>>;

/// A value of a definition, and where it stands.
#[derive(Debug)]
pub(super) struct Value {
    pub(super) raw: RawJson,
    pub(super) place: Place,
}

impl Value {
    pub(super) fn problem<T>(&self, message: impl Into<String>) -> Read<T> {
        Err(vec![self.place.problem(message)])
    }

    /// "is a number, but must be a text". Values are not shown: they may be long, or secret.
    pub(super) fn wrong<T>(&self, needed: &str) -> Read<T> {
        let found = match self.raw.kind() {
            JsonKind::Object => "an object",
            JsonKind::Array => "a list",
            JsonKind::String => "a text",
            JsonKind::Number => "a number",
            JsonKind::Boolean => "true or false",
            JsonKind::Null => "nothing",
        };
        self.problem(format!("is {found}, but must be {needed}"))
    }

    pub(super) fn text(self) -> Read<String> {
        match self.raw.to_text() {
            Some(text) => Ok(text.into_owned()),
            None => self.wrong("a text; write it in quotes"),
        }
    }

    pub(super) fn flag(self) -> Read<bool> {
        self.raw.to_bool().map_or_else(|| self.wrong("true or false, without quotes"), Ok)
    }

    /// A whole number that is not negative. What is larger than can be kept is larger than any bound as well, and
    /// stays so.
    pub(super) fn count(self) -> Read<u32> {
        match self.raw.to_integer() {
            Some(number) if number >= 0 => Ok(u32::try_from(number).unwrap_or(u32::MAX)),
            Some(_) => self.problem("must not be negative"),
            None if self.raw.kind() == JsonKind::Number => self.problem("must be a whole number"),
            None => self.wrong("a whole number, without quotes"),
        }
    }

    /// One of a few words.
    pub(super) fn word<T: Copy>(self, words: &[(&str, T)]) -> Read<T> {
        let Some(text) = self.raw.to_text() else { return self.wrong("a text") };
        if let Some((_, value)) = words.iter().find(|(word, _)| *word == text) {
            return Ok(*value);
        }
        let words: Vec<&str> = words.iter().map(|(word, _)| *word).collect();
        self.problem(strange(&text, &words))
    }

    /// An object as it is written, in which no object names a member twice.
    pub(super) fn object(self) -> Read<RawObject> {
        let object = self.indexed("an object")?;
        let problems = repeated(&object, &self.place);
        if problems.is_empty() { Ok(object) } else { Err(problems) }
    }

    /// A value of any kind, in which no object names a member twice.
    pub(super) fn any(self) -> Read<RawJson> {
        let problems = repeated_in(&self.raw, &self.place);
        if problems.is_empty() { Ok(self.raw) } else { Err(problems) }
    }

    pub(super) fn elements(self) -> Read<Vec<Self>> {
        let Some(elements) = self.raw.elements(usize::MAX) else { return self.wrong("a list") };
        let place = |at| self.place.element(at);
        Ok(elements.into_iter().enumerate().map(|(at, raw)| Self { raw, place: place(at) }).collect())
    }

    /// Every element, read by itself.
    pub(super) fn list<T>(self, mut read: impl FnMut(Self, usize) -> Read<T>) -> Read<Vec<T>> {
        let (mut list, mut problems) = (Vec::new(), Vec::new());
        for (at, element) in self.elements()?.into_iter().enumerate() {
            match read(element, at) {
                Ok(element) => list.push(element),
                Err(more) => problems.extend(more),
            }
        }
        if problems.is_empty() { Ok(list) } else { Err(problems) }
    }

    /// What can be read of every element; of what is no list, nothing.
    pub(super) fn each<T>(self, read: impl Fn(Self, usize) -> Draft<T>) -> Draft<Vec<T>> {
        let place = self.place.clone();
        let elements = match self.elements() {
            Ok(elements) => elements,
            Err(problems) => return Draft::left_out(Vec::new(), &place, problems),
        };
        let (mut value, mut flaws) = (Vec::new(), Flaws::default());
        for (at, element) in elements.into_iter().enumerate() {
            let draft = read(element, at);
            value.push(draft.value);
            flaws.absorb(draft.flaws);
        }
        Draft { value, flaws }
    }

    /// The members of an object that may have these.
    pub(super) fn members(self, known: &[&str]) -> Read<Members> {
        let object = self.indexed("an object")?;
        Ok(Members::new(object, self.place, known))
    }

    pub(super) fn indexed(&self, needed: &str) -> Read<RawObject> {
        match RawObject::parse(self.raw.clone().into_bytes()) {
            Ok(object) => Ok(object),
            Err(JsonError::Duplicate { name }) => {
                self.problem(format!("has `{}` twice; remove one", shown(&name)))
            }
            Err(_) => self.wrong(needed),
        }
    }
}

/// A word that must be one of a few others.
pub(super) fn strange(word: &str, words: &[&str]) -> String {
    let word = shown(word);
    match nearest(&word, words) {
        Some(near) => format!("is `{word}`; did you mean `{near}`?"),
        None => format!("is `{word}`, but must be one of {}", listed(words)),
    }
}

fn repeated(object: &RawObject, place: &Place) -> Vec<Problem> {
    object.iter().flat_map(|(name, value)| repeated_in(&value, &place.member(&name))).collect()
}

/// As deep as the text goes, which is bounded where it was parsed.
fn repeated_in(raw: &RawJson, place: &Place) -> Vec<Problem> {
    let value = || Value { raw: raw.clone(), place: place.clone() };
    match raw.kind() {
        JsonKind::Object => match value().indexed("an object") {
            Ok(object) => repeated(&object, place),
            Err(problems) => problems,
        },
        JsonKind::Array => value()
            .elements()
            .into_iter()
            .flatten()
            .flat_map(|element| repeated_in(&element.raw, &element.place))
            .collect(),
        _ => Vec::new(),
    }
}
