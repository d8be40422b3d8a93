use std::{borrow::Cow, collections::HashSet, fmt, ops::Range};

use bytes::Bytes;

use super::{
    JsonError, ObjectEdit,
    raw::{RawJson, single_line, utf8},
    scan::{Key, Scanner, decode},
};

/// Beyond this many members a repeated name is looked for with a set instead of by comparing pairs.
const PAIRWISE: usize = 16;

/// A JSON object whose top-level members are indexed: each name stands once.
///
/// Cheap to clone but for the index; members are slices of the same bytes.
#[derive(Clone)]
pub struct RawObject {
    raw: RawJson,
    /// In the order of the text; offsets into `raw`; names unique after decoding.
    members: Box<[Member]>,
}

#[derive(Debug, Clone)]
pub(super) struct Member {
    /// The name with its quotes.
    pub(super) key: Range<usize>,
    pub(super) value: Range<usize>,
    escaped: bool,
}

impl Default for RawObject {
    fn default() -> Self {
        Self::empty()
    }
}

impl RawObject {
    /// How many members an object that the protocol routes on may have (security.md §3.3).
    pub const MEMBER_LIMIT: usize = 64;

    /// Checks `text` and indexes the members of the object it holds, at most `usize::MAX` of them.
    ///
    /// # Errors
    /// [`JsonError`]: not JSON, not an object, or a name that stands twice.
    pub fn parse(text: impl Into<Bytes>) -> Result<Self, JsonError> {
        let bytes = single_line(text.into())?;
        let mut scanner = Scanner::new(utf8(&bytes)?);
        let object = Self::scan(&bytes, &mut scanner, usize::MAX, |_, _| Ok::<_, JsonError>(()))?;
        scanner.end()?;
        Ok(object)
    }

    /// Runs `read` over the text of a whole message, which is put on a single line first.
    ///
    /// This is how a message is indexed in one pass: `read` calls [`Self::scan`] for the envelope, whose
    /// visitor calls it again for the members it looks into.
    ///
    /// # Errors
    /// [`JsonError`] for bad UTF-8, or what `read` returns.
    pub fn read_message<T, E: From<JsonError>>(
        text: Bytes,
        read: impl FnOnce(&Bytes, &mut Scanner<'_>) -> Result<T, E>,
    ) -> Result<T, E> {
        let bytes = single_line(text)?;
        let mut scanner = Scanner::new(utf8(&bytes)?);
        let value = read(&bytes, &mut scanner)?;
        scanner.end()?;
        Ok(value)
    }

    /// Indexes the object at the scanner, at most `limit` members, handing each name to `visit` before
    /// its value is skipped; `visit` may read the value itself. `bytes` is the text under the scanner.
    ///
    /// # Errors
    /// As [`Self::parse`], [`JsonError::Members`], or what `visit` returns.
    pub fn scan<'a, E: From<JsonError>>(
        bytes: &Bytes,
        scanner: &mut Scanner<'a>,
        limit: usize,
        visit: impl FnMut(&mut Scanner<'a>, &Key<'a>) -> Result<(), E>,
    ) -> Result<Self, E> {
        scanner.peek();
        let base = scanner.position();
        let mut members = Vec::with_capacity(8);
        let range = scanner.object(visit, |key, value| {
            if members.len() == limit {
                return Err(JsonError::Members { limit }.into());
            }
            let quoted = key.quoted();
            members.push(Member {
                key: quoted.start - base..quoted.end - base,
                value: value.start - base..value.end - base,
                escaped: key.escaped(),
            });
            Ok(())
        })?;
        let object = Self { raw: RawJson::sliced(bytes, range), members: members.into() };
        match object.repeated() {
            Some(name) => Err(JsonError::Duplicate { name }.into()),
            None => Ok(object),
        }
    }

    /// An object without members.
    pub fn empty() -> Self {
        Self { raw: RawJson::assembled(b"{}".to_vec()), members: Box::default() }
    }

    /// The object as a value.
    pub fn raw(&self) -> &RawJson {
        &self.raw
    }

    /// The object as text.
    pub fn as_str(&self) -> &str {
        self.raw.as_str()
    }

    /// The value of a member, if the object has it.
    pub fn get(&self, name: &str) -> Option<RawJson> {
        let member = self.members.iter().find(|member| self.named(member, name))?;
        Some(RawJson::sliced(&self.raw.clone().into_bytes(), member.value.clone()))
    }

    /// The decoded value of a member that is a string.
    pub fn get_text(&self, name: &str) -> Option<String> {
        self.get(name)?.to_text().map(Cow::into_owned)
    }

    /// The member's value as an indexed object; `None` if absent, not an object, or with a name twice.
    pub fn get_object(&self, name: &str) -> Option<Self> {
        Self::parse(self.get(name)?.into_bytes()).ok()
    }

    /// Whether the object has a member of this name.
    pub fn contains(&self, name: &str) -> bool {
        self.members.iter().any(|member| self.named(member, name))
    }

    /// All members in the order of the text: decoded names and raw values.
    pub fn iter(&self) -> impl Iterator<Item = (Cow<'_, str>, RawJson)> {
        let bytes = self.raw.clone().into_bytes();
        self.members
            .iter()
            .map(move |member| (self.name(member), RawJson::sliced(&bytes, member.value.clone())))
    }

    /// How many members there are.
    pub fn len(&self) -> usize {
        self.members.len()
    }

    /// Whether there are no members.
    pub fn is_empty(&self) -> bool {
        self.members.is_empty()
    }

    /// Begins a change of members; all other bytes stay (design §2, splicing).
    pub fn edit(&self) -> ObjectEdit<'_> {
        ObjectEdit::new(self)
    }

    pub(super) fn members(&self) -> &[Member] {
        &self.members
    }

    pub(super) fn named(&self, member: &Member, name: &str) -> bool {
        let quoted = &self.raw.as_bytes()[member.key.clone()];
        if member.escaped {
            self.name(member) == name
        } else {
            quoted[1..quoted.len() - 1] == *name.as_bytes()
        }
    }

    fn name(&self, member: &Member) -> Cow<'_, str> {
        // Only the name is looked at: checking the whole object again for each name would take time squared.
        decode(str::from_utf8(&self.raw.as_bytes()[member.key.clone()]).unwrap_or("\"\""))
    }

    fn repeated(&self) -> Option<String> {
        if self.members.len() > PAIRWISE {
            let mut seen = HashSet::with_capacity(self.members.len());
            return self
                .members
                .iter()
                .map(|m| self.name(m))
                .find(|n| !seen.insert(n.clone()))
                .map(Cow::into_owned);
        }
        let bytes = self.raw.as_bytes();
        let same = |a: &Member, b: &Member| {
            if a.escaped || b.escaped {
                self.name(a) == self.name(b)
            } else {
                bytes[a.key.clone()] == bytes[b.key.clone()]
            }
        };
        let mut earlier = self.members.iter().enumerate();
        earlier
            .find(|(at, member)| self.members[..*at].iter().any(|other| same(other, member)))
            .map(|(_, member)| self.name(member).into_owned())
    }
}

impl PartialEq for RawObject {
    fn eq(&self, other: &Self) -> bool {
        self.raw == other.raw
    }
}

impl Eq for RawObject {}

impl fmt::Debug for RawObject {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.raw.fmt(f)
    }
}

impl TryFrom<RawJson> for RawObject {
    type Error = JsonError;

    fn try_from(raw: RawJson) -> Result<Self, JsonError> {
        Self::parse(raw.into_bytes())
    }
}
