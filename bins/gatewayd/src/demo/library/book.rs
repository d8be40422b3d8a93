use serde::{Deserialize, Serialize};

/// What is known of a book.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct Details {
    pub(super) title: String,
    pub(super) author: String,
    pub(super) year: i32,
    pub(super) subjects: Vec<Subject>,
}

impl Details {
    /// What the description promises of lengths, which types do not say.
    pub(super) fn is_sound(&self) -> bool {
        let fits = |text: &str| (1..=200).contains(&text.chars().count());
        fits(&self.title) && fits(&self.author) && self.subjects.len() <= 8
    }
}

/// A book with its number.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub(super) struct Book {
    pub(super) id: u32,
    #[serde(flatten)]
    pub(super) details: Details,
}

/// What a book is about.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub(super) enum Subject {
    Adventure,
    Horror,
    Mystery,
    Satire,
    Science,
    Sea,
    Society,
    War,
}

impl Subject {
    const ALL: [(&'static str, Self); 8] = [
        ("adventure", Self::Adventure),
        ("horror", Self::Horror),
        ("mystery", Self::Mystery),
        ("satire", Self::Satire),
        ("science", Self::Science),
        ("sea", Self::Sea),
        ("society", Self::Society),
        ("war", Self::War),
    ];

    pub(super) fn parse(word: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|(name, _)| *name == word).map(|(_, subject)| subject)
    }
}
