use super::{RawJson, RawObject, object::Member};

/// A change to some members of a [`RawObject`]. Every byte that is not part of a changed member comes
/// out as it went in; members that are new go to the end, in the order they were set.
#[derive(Debug)]
#[must_use = "an edit does nothing until it is written"]
pub struct ObjectEdit<'a> {
    object: &'a RawObject,
    /// New text for the member of the same index; `None` cuts it.
    changes: Vec<(usize, Option<Vec<u8>>)>,
    added: Vec<(String, Vec<u8>)>,
}

impl<'a> ObjectEdit<'a> {
    pub(super) fn new(object: &'a RawObject) -> Self {
        Self { object, changes: Vec::new(), added: Vec::new() }
    }

    /// Puts `value` in the place of the member, or at the end if there is none.
    /// `value` must be one JSON value without line breaks.
    pub fn set(mut self, name: &str, value: impl AsRef<[u8]>) -> Self {
        let value = value.as_ref().to_vec();
        match self.index(name) {
            Some(index) => self.change(index, Some(value)),
            None => match self.added.iter_mut().find(|(added, _)| added == name) {
                Some(added) => added.1 = value,
                None => self.added.push((name.to_owned(), value)),
            },
        }
        self
    }

    /// Cuts the member, if it is there.
    pub fn remove(mut self, name: &str) -> Self {
        self.added.retain(|(added, _)| added != name);
        if let Some(index) = self.index(name) {
            self.change(index, None);
        }
        self
    }

    /// Whether nothing would change.
    pub fn is_unchanged(&self) -> bool {
        self.changes.is_empty() && self.added.is_empty()
    }

    /// The changed object.
    pub fn finish(self) -> RawJson {
        if self.is_unchanged() {
            return self.object.raw().clone();
        }
        let mut out = Vec::with_capacity(self.object.raw().as_bytes().len() + 128);
        self.write(&mut out);
        RawJson::assembled(out)
    }

    /// Appends the changed object to `out`.
    pub fn write(&self, out: &mut Vec<u8>) {
        let bytes = self.object.raw().as_bytes();
        if self.is_unchanged() {
            out.extend_from_slice(bytes);
            return;
        }
        let members = self.object.members();
        // `copied` is how much of the original has been written or cut; `written` counts members.
        let (mut copied, mut written) = (0, 0);
        for (index, member) in members.iter().enumerate() {
            match self.changes.iter().find(|(at, _)| *at == index) {
                Some((_, None)) => {
                    let (cut, resume) = cut(members, index, written);
                    out.extend_from_slice(&bytes[copied..cut.max(copied)]);
                    copied = resume.max(copied);
                }
                Some((_, Some(value))) => {
                    out.extend_from_slice(&bytes[copied..member.value.start]);
                    out.extend_from_slice(value);
                    copied = member.value.end;
                    written += 1;
                }
                None => written += 1,
            }
        }
        let end = members.last().map_or(1, |last| last.value.end).max(copied);
        out.extend_from_slice(&bytes[copied..end]);
        self.append(out, written > 0);
        out.extend_from_slice(&bytes[end..]);
    }

    fn append(&self, out: &mut Vec<u8>, mut comma: bool) {
        for (name, value) in &self.added {
            if comma {
                out.push(b',');
            }
            out.extend_from_slice(RawJson::string(name).as_bytes());
            out.push(b':');
            out.extend_from_slice(value);
            comma = true;
        }
    }

    fn index(&self, name: &str) -> Option<usize> {
        self.object.members().iter().position(|member| self.object.named(member, name))
    }

    fn change(&mut self, index: usize, value: Option<Vec<u8>>) {
        self.changes.retain(|(at, _)| *at != index);
        self.changes.push((index, value));
    }
}

/// Where a cut member's text ends before it and where the text goes on after it. With members kept before
/// it, the comma in front goes too; otherwise everything up to the next member's name.
fn cut(members: &[Member], index: usize, written: usize) -> (usize, usize) {
    let member = &members[index];
    match (index.checked_sub(1).map(|before| &members[before]), members.get(index + 1)) {
        (Some(before), _) if written > 0 => (before.value.end, member.value.end),
        (_, Some(next)) => (member.key.start, next.key.start),
        _ => (member.key.start, member.value.end),
    }
}
