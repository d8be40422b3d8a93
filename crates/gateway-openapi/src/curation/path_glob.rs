use std::fmt;

use glob::{MatchOptions, Pattern};

/// A pattern for paths (E-38). `*` and `?` do not cross `/`; `**` as a whole segment does. One that ends in `/*` is
/// recursive and matches what stands before as well: `/admin/*` matches `/admin` and `/admin/users/1`, not
/// `/administrator`. One that cannot be understood never matches.
#[derive(Debug, Clone)]
pub struct PathGlob {
    text: String,
    /// Of what is before `/*` if it ends so; why not otherwise.
    pattern: Result<Pattern, String>,
    is_recursive: bool,
}

impl PathGlob {
    /// Takes the pattern, also one that cannot be understood: see [`Self::fault`].
    pub fn new(text: impl Into<String>) -> Self {
        let text = text.into();
        let prefix = text.strip_suffix("/*");
        let pattern = Pattern::new(prefix.unwrap_or(&text)).map_err(|error| error.to_string());
        Self { is_recursive: prefix.is_some(), pattern, text }
    }

    /// Whether the path of an operation, placeholders and all, matches.
    pub fn matches(&self, path: &str) -> bool {
        let Ok(pattern) = &self.pattern else { return false };
        let fits = |path: &str| pattern.matches_with(path, OPTIONS);
        if !self.is_recursive {
            return fits(path);
        }
        // The path itself, and everything that ends before one of its slashes.
        fits(path) || path.match_indices('/').any(|(end, _)| fits(&path[..end]))
    }

    /// Why it cannot be understood, if so.
    pub fn fault(&self) -> Option<&str> {
        match &self.pattern {
            Err(reason) => Some(reason),
            Ok(_) if !self.text.starts_with(['/', '*', '?', '[']) => Some("paths begin with `/`"),
            Ok(_) => None,
        }
    }
}

const OPTIONS: MatchOptions = MatchOptions {
    case_sensitive: true,
    require_literal_separator: true,
    require_literal_leading_dot: false,
};

impl fmt::Display for PathGlob {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.text)
    }
}

impl PartialEq for PathGlob {
    fn eq(&self, other: &Self) -> bool {
        self.text == other.text
    }
}

impl Eq for PathGlob {}
