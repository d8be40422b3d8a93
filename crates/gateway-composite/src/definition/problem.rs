use std::collections::{BTreeMap, HashMap, HashSet};

use gateway_domain::{RawJson, RawObject};

use super::{
    DefinitionError,
    place::{Hop, Place},
};

/// Something that is wrong, before it is told.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Problem {
    pub(crate) place: Place,
    /// The rest of a sentence that begins with the field.
    pub(crate) message: String,
    pub(crate) cause: Option<String>,
}

impl Problem {
    /// The same, with what a library said.
    pub(crate) fn because(self, cause: String) -> Self {
        Self { cause: Some(cause), ..self }
    }

    /// The order of definitions of which only the parts are known: what stands above the steps, the steps, the output.
    pub(crate) fn rank(&self) -> (usize, usize) {
        match self.place.way() {
            [Hop::Member(_), Hop::Element(step), ..] if self.place.step.is_some() => (1, *step),
            [Hop::Member(name), ..] if name == "output" => (2, 0),
            _ => (0, 0),
        }
    }
}

impl From<Problem> for DefinitionError {
    fn from(problem: Problem) -> Self {
        let Problem { place: Place { step, field, .. }, message, cause } = problem;
        Self { step, field, message, cause }
    }
}

/// What was read, though something in it may be wrong.
#[derive(Debug)]
pub(crate) struct Draft<T> {
    pub(crate) value: T,
    pub(crate) flaws: Flaws,
}

impl<T> Draft<T> {
    /// A stand-in for what stands here and cannot be read.
    pub(super) fn left_out(value: T, place: &Place, problems: Vec<Problem>) -> Self {
        let mut flaws = Flaws { problems, left_out: HashSet::new() };
        flaws.leave_out(place);
        Self { value, flaws }
    }
}

/// What is wrong with the form of a definition.
#[derive(Debug, Default)]
pub(crate) struct Flaws {
    pub(crate) problems: Vec<Problem>,
    /// The ways to what was left out for that reason. What else is said of it would only follow from that.
    left_out: HashSet<Vec<Hop>>,
}

impl Flaws {
    pub(super) fn leave_out(&mut self, place: &Place) {
        self.left_out.insert(place.way().to_vec());
    }

    pub(super) fn absorb(&mut self, other: Self) {
        self.problems.extend(other.problems);
        self.left_out.extend(other.left_out);
    }

    /// Whether this, or something that it is a part of, was left out.
    pub(crate) fn hide(&self, place: &Place) -> bool {
        let way = place.way();
        !self.left_out.is_empty() && (0..=way.len()).any(|end| self.left_out.contains(&way[..end]))
    }
}

/// The problems in a value as it stands in the file. What is missing there is told before what is wrong with the rest.
/// `depth` is how many parts of their ways lead to the value; ways are no deeper than the text was.
pub(crate) fn in_file_order(value: &RawJson, depth: usize, problems: Vec<Problem>) -> Vec<Problem> {
    if problems.len() < 2 {
        return problems;
    }
    let parts = parts(value);
    let numbers: HashMap<_, _> = parts.iter().enumerate().map(|(at, (hop, _))| (hop, at)).collect();
    let (mut ordered, mut within) = (Vec::new(), BTreeMap::<usize, Vec<Problem>>::new());
    for problem in problems {
        match problem.place.way().get(depth).and_then(|hop| numbers.get(hop)) {
            Some(at) => within.entry(*at).or_default().push(problem),
            None => ordered.push(problem),
        }
    }
    for (at, problems) in within {
        ordered.extend(in_file_order(&parts[at].1, depth + 1, problems));
    }
    ordered
}

fn parts(value: &RawJson) -> Vec<(Hop, RawJson)> {
    if let Ok(object) = RawObject::try_from(value.clone()) {
        return object.iter().map(|(name, value)| (Hop::Member(name.into_owned()), value)).collect();
    }
    let elements = value.elements(usize::MAX).into_iter().flatten().enumerate();
    elements.map(|(at, value)| (Hop::Element(at), value)).collect()
}
