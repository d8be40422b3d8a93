/// A path with placeholders, cut at its slashes. A query in it (`/objects?acl`), with which some descriptions tell
/// operations of one path apart, is kept; a fragment is not.
#[derive(Debug, PartialEq, Eq)]
pub(in crate::engine::request) struct Template<'a> {
    segments: Vec<Vec<Part<'a>>>,
    query: &'a str,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Part<'a> {
    Text(&'a str),
    /// The name between the braces.
    Placeholder(&'a str),
}

impl<'a> Template<'a> {
    /// Reads any text: braces that do not close are text.
    pub(in crate::engine::request) fn read(path: &'a str) -> Self {
        let mut rest = path.strip_prefix('/').unwrap_or(path);
        let mut segments = vec![Vec::new()];
        let mut query = "";
        while let Some(next) = rest.chars().next() {
            if let Some((name, after)) = rest.strip_prefix('{').and_then(|rest| rest.split_once('}')) {
                push(&mut segments, Part::Placeholder(name));
                rest = after;
                continue;
            }
            match next {
                '/' => {
                    segments.push(Vec::new());
                    rest = &rest[1..];
                }
                '?' => {
                    query = rest[1..].split('#').next().unwrap_or_default();
                    break;
                }
                '#' => break,
                first => {
                    let from = first.len_utf8();
                    let end = rest[from..].find(['/', '{', '?', '#']).map_or(rest.len(), |end| from + end);
                    push(&mut segments, Part::Text(&rest[..end]));
                    rest = &rest[end..];
                }
            }
        }
        Self { segments, query }
    }

    /// At least one; what is between two slashes.
    pub(super) fn segments(&self) -> &[Vec<Part<'a>>] {
        &self.segments
    }

    /// How many segments the path has, whatever the values.
    pub(in crate::engine::request) fn count(&self) -> usize {
        self.segments.len()
    }

    /// The members of the query, as they are written.
    pub(in crate::engine::request) fn query(&self) -> impl Iterator<Item = &'a str> {
        self.query.split('&').filter(|member| !member.is_empty())
    }
}

fn push<'a>(segments: &mut [Vec<Part<'a>>], part: Part<'a>) {
    if let Some(segment) = segments.last_mut() {
        segment.push(part);
    }
}
