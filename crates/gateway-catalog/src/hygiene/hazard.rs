use std::fmt;

use super::Hygiene;
use crate::tokens::Unit;

/// Why a character, or a whole text, is not harmless.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Hazard {
    /// C0 but for tab and line feed, DEL, C1: what terminals obey.
    Control,
    /// Marks, embeddings, overrides and isolates of direction: text reads otherwise than it is written.
    Direction,
    /// U+E0000 to U+E007F, which are invisible letters, and U+E0100 to U+E01EF, of which each can carry a byte.
    Tag,
    /// U+2028 and U+2029: lines end where nobody looks for it; and the anchors of annotations.
    Separator,
    /// Half of a surrogate pair: many a client cannot read the list that it stands in.
    Half,
    /// Zero width: spaces, soft hyphens, invisible operators, byte order marks.
    ZeroWidth,
    /// Fillers, which are letters that cannot be seen.
    Filler,
    /// U+200C and U+200D: Persian, Indic scripts and emoji need them.
    Joiner,
    /// Variation selectors: Mongolian and emoji need them.
    Variation,
    /// A text is longer than anybody reads.
    Length,
}

impl Hazard {
    /// Why a character is one; `None`: it is not.
    pub fn of(character: char) -> Option<Self> {
        match character {
            // By far most are none.
            '\t' | '\n' | ' '..='~' => None,
            '\u{ad}'
            | '\u{34f}'
            | '\u{180e}'
            | '\u{200b}'
            | '\u{2060}'..='\u{2065}'
            | '\u{206a}'..='\u{206f}'
            | '\u{feff}' => Some(Self::ZeroWidth),
            '\u{61c}' | '\u{200e}' | '\u{200f}' | '\u{202a}'..='\u{202e}' | '\u{2066}'..='\u{2069}' => {
                Some(Self::Direction)
            }
            '\u{e0000}'..='\u{e007f}' | '\u{e0100}'..='\u{e01ef}' => Some(Self::Tag),
            '\u{200c}' | '\u{200d}' => Some(Self::Joiner),
            '\u{2028}' | '\u{2029}' | '\u{fff9}'..='\u{fffb}' => Some(Self::Separator),
            '\u{180b}'..='\u{180d}' | '\u{180f}' | '\u{fe00}'..='\u{fe0f}' => Some(Self::Variation),
            '\u{115f}' | '\u{1160}' | '\u{17b4}' | '\u{17b5}' | '\u{3164}' | '\u{ffa0}' => Some(Self::Filler),
            _ => character.is_control().then_some(Self::Control),
        }
    }

    pub(super) fn of_unit(unit: Unit) -> Option<Self> {
        match unit {
            Unit::Char(character) => Self::of(character),
            Unit::Lone(_) => Some(Self::Half),
        }
    }

    /// Whether it is taken out of texts.
    pub fn is_cleaned(self, hygiene: Hygiene) -> bool {
        match self {
            Self::Joiner | Self::Variation => hygiene == Hygiene::Strict,
            Self::Length => false,
            _ => matches!(hygiene, Hygiene::Clean | Hygiene::Strict),
        }
    }
}

/// Text in which all can be seen: what cannot be stands there as `<U+202E>`. Fit for one line on a terminal.
pub(crate) fn visible(units: impl IntoIterator<Item = Unit>) -> String {
    let mut text = String::new();
    for unit in units {
        match unit {
            Unit::Char(c) if !c.is_control() && Hazard::of(c).is_none() => text.push(c),
            Unit::Char(c) => text.push_str(&format!("<U+{:04X}>", u32::from(c))),
            Unit::Lone(half) => text.push_str(&format!("<U+{half:04X}>")),
        }
    }
    text
}

impl fmt::Display for Hazard {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Control => "control character",
            Self::Direction => "change of direction",
            Self::Tag => "invisible tag",
            Self::Separator => "hidden separator",
            Self::Half => "half of a character",
            Self::ZeroWidth => "character without width",
            Self::Filler => "invisible filler",
            Self::Joiner => "invisible joiner",
            Self::Variation => "variation selector",
            Self::Length => "very long text",
        })
    }
}
