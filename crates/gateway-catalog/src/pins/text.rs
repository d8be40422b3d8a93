//! A lock as a file that is reviewed like source code.

use std::{collections::BTreeMap, fmt, fmt::Write as _};

use gateway_domain::RawObject;
use toml::{
    Spanned,
    de::{DeTable, DeValue},
};

use super::{
    canonical::escape,
    lock::{Lock, Locked},
};
use crate::{
    Hazard,
    tokens::{Token, Tokens},
};

const HEADER: &str = "\
# What the tools of all downstreams looked like when they were accepted.
# Written by `gatewayd pin`; read the changes, and keep this file under version control.
";

const VERSION: &str = "1";

/// How large a lock file may be.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct LockBounds {
    /// Bytes of the text. Default 64 MiB.
    pub bytes: usize,
    /// Tools. Default 50,000.
    pub tools: usize,
}

impl Default for LockBounds {
    fn default() -> Self {
        Self { bytes: 64 << 20, tools: 50_000 }
    }
}

/// Why a text is no lock.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LockError {
    /// The line, counted from 1, if it is about one.
    pub line: Option<usize>,
    /// What is wrong.
    pub fault: LockFault,
}

impl fmt::Display for LockError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.line {
            Some(line) => write!(f, "line {line}: {}", self.fault),
            None => self.fault.fmt(f),
        }
    }
}

impl std::error::Error for LockError {}

/// What is wrong with the text of a lock.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum LockFault {
    /// It is not TOML.
    #[error("not TOML: {reason}")]
    Syntax {
        /// What the parser says.
        reason: String,
    },
    /// It is of no version that is known here.
    #[error("the lock is not of version {VERSION}")]
    Version,
    /// It is larger than allowed.
    #[error("the lock has more than {limit} {what}")]
    TooLarge {
        /// Bytes or tools.
        what: &'static str,
        /// The most there may be.
        limit: usize,
    },
    /// A member is missing, or is something else than a text.
    #[error("a tool has no text `{member}`")]
    Missing {
        /// The member.
        member: &'static str,
    },
    /// There is something that does not belong there.
    #[error("{member:?} does not belong here")]
    Unknown {
        /// The member.
        member: String,
    },
    /// Two tools have one name.
    #[error("the tool {name:?} stands there twice")]
    Duplicate {
        /// The exposed name.
        name: String,
    },
    /// A definition is no JSON object.
    #[error("the definition of {name:?} is no JSON object")]
    Definition {
        /// The exposed name of the tool.
        name: String,
    },
    /// A definition was changed without its digest, as by a wrong merge.
    #[error("the definition of {name:?} is not the one that its digest is of; accept it again")]
    Digest {
        /// The exposed name of the tool.
        name: String,
    },
}

impl Lock {
    /// The text of the file: sorted by names, the same for the same tools. Every member of a definition has a line of
    /// its own, and what cannot be seen is escaped.
    pub fn render(&self) -> String {
        let mut text = format!("{HEADER}version = {VERSION}\n");
        for (name, tool) in self.iter() {
            let (name, downstream, original) =
                (quoted(name), quoted(tool.downstream()), quoted(tool.original()));
            let (digest, definition) = (tool.digest(), lines(tool.definition()));
            // Writing to a string cannot fail.
            let _ = write!(
                text,
                "\n[[tool]]\nname = {name}\ndownstream = {downstream}\noriginal = {original}\nsha256 = \"{digest}\"\n\
                 definition = '''\n{definition}'''\n"
            );
        }
        text
    }

    /// Reads what [`Self::render`] has written, or what is the same to TOML.
    ///
    /// # Errors
    /// [`LockError`], the first that is found. A lock that is not read whole is not read at all.
    pub fn parse(text: &str, bounds: &LockBounds) -> Result<Self, LockError> {
        if text.len() > bounds.bytes {
            return Err(whole(LockFault::TooLarge { what: "bytes", limit: bounds.bytes }));
        }
        let at = |position: usize| Some(1 + text[..position.min(text.len())].matches('\n').count());
        let table = DeTable::parse(text).map_err(|error| LockError {
            line: error.span().and_then(|span| at(span.start)),
            fault: LockFault::Syntax { reason: error.message().to_owned() },
        })?;
        let mut tools = BTreeMap::new();
        for table in tables(table.into_inner())? {
            let line = at(table.span().start);
            let fault = |fault| LockError { line, fault };
            if tools.len() == bounds.tools {
                return Err(fault(LockFault::TooLarge { what: "tools", limit: bounds.tools }));
            }
            let (name, tool) = tool(table.into_inner()).map_err(fault)?;
            if tools.contains_key(&*name) {
                return Err(fault(LockFault::Duplicate { name }));
            }
            tools.insert(name.into(), tool);
        }
        Ok(Self { tools })
    }
}

fn whole(fault: LockFault) -> LockError {
    LockError { line: None, fault }
}

fn tables(mut lock: DeTable<'_>) -> Result<Vec<Spanned<DeValue<'_>>>, LockError> {
    let version = lock.remove("version").map(Spanned::into_inner);
    if !version.is_some_and(|version| matches!(version, DeValue::Integer(it) if it.as_str() == VERSION)) {
        return Err(whole(LockFault::Version));
    }
    let tools = lock.remove("tool").map(Spanned::into_inner);
    if let Some(member) = lock.keys().next() {
        return Err(whole(LockFault::Unknown { member: member.get_ref().to_string() }));
    }
    match tools {
        None => Ok(Vec::new()),
        Some(DeValue::Array(tools)) => Ok(tools.into_iter().collect()),
        Some(_) => Err(whole(LockFault::Unknown { member: "tool".to_owned() })),
    }
}

fn tool(table: DeValue<'_>) -> Result<(String, Locked), LockFault> {
    let DeValue::Table(mut members) = table else {
        return Err(LockFault::Unknown { member: "tool".to_owned() });
    };
    let mut take = |member: &'static str| match members.remove(member).map(Spanned::into_inner) {
        Some(DeValue::String(text)) => Ok(text.into_owned()),
        _ => Err(LockFault::Missing { member }),
    };
    let (name, downstream, original) = (take("name")?, take("downstream")?, take("original")?);
    let (digest, definition) = (take("sha256")?, take("definition")?);
    if let Some(member) = members.keys().next() {
        return Err(LockFault::Unknown { member: member.get_ref().to_string() });
    }
    let Ok(definition) = RawObject::parse(definition) else { return Err(LockFault::Definition { name }) };
    let tool = Locked::of(downstream, original, &definition);
    if tool.digest() == digest { Ok((name, tool)) } else { Err(LockFault::Digest { name }) }
}

/// A canonical definition, one member a line, so that it can stand in a literal string of TOML. All that is replaced
/// stands in strings.
fn lines(definition: &str) -> String {
    let mut text = String::with_capacity(definition.len() + 16);
    let mut depth = 0_usize;
    let mut copied = 0;
    for (token, range) in Tokens::of(definition) {
        match token {
            Token::Open(_) => depth += 1,
            Token::Close => depth -= 1,
            Token::Key if depth == 1 && range.start > 1 => {
                text.push_str(&definition[copied..range.start]);
                text.push('\n');
                copied = range.start;
            }
            Token::Key | Token::Text | Token::Scalar => {}
        }
    }
    text.push_str(&definition[copied..]);
    let text = text.replace("'''", "\\u0027\\u0027\\u0027");
    let mut shown = String::with_capacity(text.len());
    for c in text.chars() {
        match Hazard::of(c) {
            Some(_) => c.encode_utf16(&mut [0; 2]).iter().for_each(|unit| escape(&mut shown, *unit)),
            None => shown.push(c),
        }
    }
    shown
}

/// A basic string of TOML.
fn quoted(text: &str) -> String {
    let mut quoted = String::from("\"");
    for c in text.chars() {
        match c {
            '"' | '\\' => quoted.extend(['\\', c]),
            // Writing to a string cannot fail.
            _ if c.is_control() || Hazard::of(c).is_some() => drop(write!(quoted, "\\U{:08X}", u32::from(c))),
            _ => quoted.push(c),
        }
    }
    quoted.push('"');
    quoted
}
