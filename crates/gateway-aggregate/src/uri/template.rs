/// How much looking for the owners of URIs may still cost, in steps of about a nanosecond. It bounds what lists of
/// downstreams, which are not trusted, make of one request.
#[derive(Debug)]
pub struct Effort(usize);

impl Effort {
    /// So many steps.
    pub fn new(steps: usize) -> Self {
        Self(steps)
    }

    /// `None`, then and from now on, if there is not so much left.
    pub(super) fn spend(&mut self, steps: usize) -> Option<()> {
        let left = self.0.checked_sub(steps);
        self.0 = left.unwrap_or(0);
        left.map(drop)
    }
}

impl Default for Effort {
    /// Enough for thousands of links and of templates that are of some use, and some tens of milliseconds.
    fn default() -> Self {
        Self(20_000_000)
    }
}

/// A URI template (RFC 6570), compiled to tell whether a URI could be one of its expansions. It answers whose a URI
/// is, so it is generous: what variables hold is not looked at beyond the characters that their operator lets
/// through.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct UriTemplate {
    parts: Vec<Part>,
}

#[derive(Debug, Clone, PartialEq, Eq)]
enum Part {
    Literal(Box<str>),
    /// What an expression expands to.
    Expression {
        /// The character it begins with; without that it may be missing altogether.
        first: Option<u8>,
        /// Characters that it does not contain.
        ends: &'static [u8],
    },
}

impl UriTemplate {
    /// The longest URI that is matched, in bytes.
    pub const LONGEST_URI: usize = 8 * 1024;
    /// The most parts a template may have.
    pub const MOST_PARTS: usize = 64;

    /// The longest template, in bytes.
    pub const LONGEST: usize = 2 * 1024;

    /// Compiles a template; `None` if it is none, longer than [`Self::LONGEST`] or of more than [`Self::MOST_PARTS`].
    pub fn parse(template: &str) -> Option<Self> {
        if template.len() > Self::LONGEST {
            return None;
        }
        let (mut parts, mut rest) = (Vec::new(), template);
        while !rest.is_empty() {
            let open = rest.find('{').unwrap_or(rest.len());
            let (literal, after) = rest.split_at(open);
            if literal.contains('}') || parts.len() >= Self::MOST_PARTS {
                return None;
            }
            if !literal.is_empty() {
                parts.push(Part::Literal(literal.into()));
            }
            let Some(expression) = after.strip_prefix('{') else { break };
            let (inner, after) = expression.split_once('}')?;
            parts.push(expression_of(inner)?);
            rest = after;
        }
        Some(Self { parts })
    }

    /// Whether the template could expand to `uri`.
    pub fn matches(&self, uri: &str) -> bool {
        self.may_match(uri) && self.matches_all(uri.as_bytes())
    }

    /// The same as far as the effort goes; beyond it `None`.
    pub fn matches_within(&self, uri: &str, effort: &mut Effort) -> Option<bool> {
        effort.spend(1)?;
        if !self.may_match(uri) {
            return Some(false);
        }
        // The URI's length for each part, and comparing literals, many bytes at a time, at each place of it.
        let literals = self.parts.iter().map(|part| match part {
            Part::Literal(literal) => literal.len(),
            Part::Expression { .. } => 0,
        });
        let for_each_byte = self.parts.len() + literals.sum::<usize>() / 32;
        effort.spend((uri.len() + 1) * for_each_byte)?;
        Some(self.matches_all(uri.as_bytes()))
    }

    /// Most URIs differ in the first literal, which is decided without a table.
    fn may_match(&self, uri: &str) -> bool {
        let begins = match self.parts.first() {
            Some(Part::Literal(literal)) => uri.starts_with(&**literal),
            _ => true,
        };
        begins && uri.len() <= Self::LONGEST_URI
    }

    fn matches_all(&self, text: &[u8]) -> bool {
        let mut reached = vec![false; text.len() + 1];
        reached[0] = true;
        for part in &self.parts {
            reached = part.advance(&reached, text);
        }
        reached.last() == Some(&true)
    }

    /// The template without the names of variables that do not show in what it expands to: two of the same skeleton
    /// expand to the same URIs.
    pub fn skeleton(template: &str) -> String {
        let mut skeleton = String::with_capacity(template.len());
        let mut rest = template;
        while let Some((literal, after)) = rest.split_once('{') {
            let Some((inner, after)) = after.split_once('}') else { break };
            let operator = inner.find(|c: char| c.is_alphanumeric() || c == '_').unwrap_or(inner.len());
            let (operator, names) = inner.split_at(operator);
            let shown = if matches!(operator, "?" | "&" | ";") { names } else { "" };
            skeleton.extend([literal, "{", operator, shown, "}"]);
            rest = after;
        }
        skeleton + rest
    }
}

fn expression_of(inner: &str) -> Option<Part> {
    let (first, ends): (_, &[u8]) = match inner.bytes().next()? {
        b'+' => (None, b""),
        b'#' => (Some(b'#'), b""),
        b'.' => (Some(b'.'), b"/?#"),
        b'/' => (Some(b'/'), b"?#"),
        b';' => (Some(b';'), b"/?#"),
        b'?' => (Some(b'?'), b"#"),
        b'&' => (Some(b'&'), b"#"),
        _ => (None, b"/?#"),
    };
    let is_good = |c: char| c.is_alphanumeric() || "_.,:*%+#/;?&".contains(c);
    inner.chars().all(is_good).then_some(Part::Expression { first, ends })
}

impl Part {
    /// Where the text can have been read to after this part, given where before it.
    fn advance(&self, reached: &[bool], text: &[u8]) -> Vec<bool> {
        let mut next = vec![false; reached.len()];
        match self {
            Self::Literal(literal) => {
                let literal = literal.as_bytes();
                for at in (0..text.len()).filter(|at| reached[*at] && text[*at..].starts_with(literal)) {
                    next[at + literal.len()] = true;
                }
            }
            Self::Expression { first: None, ends } => {
                // At least one character: an empty one is another URI to everybody but the RFC.
                let mut inside = false;
                for (at, byte) in text.iter().enumerate() {
                    inside = (inside || reached[at]) && !ends.contains(byte);
                    next[at + 1] |= inside;
                }
            }
            Self::Expression { first: Some(first), ends } => {
                next.copy_from_slice(reached);
                let mut inside = false;
                for (at, byte) in text.iter().enumerate() {
                    inside = (inside && !ends.contains(byte)) || (reached[at] && byte == first);
                    next[at + 1] |= inside;
                }
            }
        }
        next
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn templates_match_what_they_expand_to() {
        #[track_caller]
        fn check(template: &str, uri: &str, expected: bool) {
            let template = UriTemplate::parse(template).unwrap();
            assert_eq!(template.matches(uri), expected, "{uri} of {template:?}");
        }
        check("note://{id}", "note://42", true);
        check("note://{id}", "note://", false);
        check("note://{id}", "note://4/2", false);
        check("note://{id}", "Note://42", false);
        check("note://{id}/x", "note://42/x", true);
        check("note://{id}/x", "note://42/xy", false);
        check("{a}-{b}", "1-2-3", true);
        check("db://{t}/{id}{?q,limit}", "db://a/1", true);
        check("db://{t}/{id}{?q,limit}", "db://a/1?q=2&limit=/3", true);
        check("db://{t}/{id}{?q,limit}", "db://a/1/2", false);
        check("file:///{+path}", "file:///srv/x?y#z", true);
        check("file:///{path*}", "file:///srv", true);
        check("x:{/a*}", "x:/1/2", true);
        check("x:{/a*}", "x:1", false);
        check("x:{/a}", "x:", true);
        check("x:y{.ext}{#part}", "x:y.html#top", true);
        check("x:{;a}", "x:;a=1", true);
        check("x:?f{&q}", "x:?f&q=1", true);
        check("plain:x", "plain:x", true);
        check("{+uri}", "any:thing/at?all", true);
        check("x:{v}", &format!("x:{}", "a".repeat(UriTemplate::LONGEST_URI)), false);
    }

    #[test]
    fn what_is_no_template_has_no_matcher() {
        for bad in [
            "x:{",
            "x:}",
            "x:{}",
            "x:{a b}",
            "x:{a{b}}",
            "x:{a}}",
            &"{a}".repeat(65),
            &"a".repeat(UriTemplate::LONGEST + 1),
        ] {
            assert_eq!(UriTemplate::parse(bad), None, "{bad}");
        }
    }

    #[test]
    fn skeletons_tell_what_differs_only_in_names() {
        for (template, skeleton) in [
            ("note://{id}/x", "note://{}/x"),
            ("f:{+path}{?q,n}", "f:{+}{?q,n}"),
            ("f:{/a*}", "f:{/}"),
            ("f:{", "f:{"),
            ("", ""),
        ] {
            assert_eq!(UriTemplate::skeleton(template), skeleton);
        }
    }

    proptest! {
        #[test]
        fn an_expansion_is_matched(parts in prop::collection::vec(("[a-c/]{0,3}", "[a-c0-9.%-]{1,4}"), 0..5)) {
            let template: String = parts.iter().map(|(literal, _)| format!("{literal}{{v}}")).collect();
            let uri: String = parts.iter().map(|(literal, value)| format!("{literal}{value}")).collect();
            prop_assert!(UriTemplate::parse(&template).unwrap().matches(&uri));
        }

        #[test]
        fn no_template_and_no_uri_panics(template in "[a-c{}+?/]{0,12}", uri in any::<String>()) {
            if let Some(template) = UriTemplate::parse(&template) {
                template.matches(&uri);
            }
            UriTemplate::skeleton(&template);
        }
    }
}
