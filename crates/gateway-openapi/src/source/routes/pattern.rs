/// The path with `{name}` for each placeholder, and their names in order.
pub(super) fn read(pattern: &str) -> Result<(String, Vec<String>), String> {
    let Some(below) = pattern.strip_prefix('/') else {
        return Err("the pattern does not begin with `/`".into());
    };
    let mut reading = Reading { path: String::with_capacity(pattern.len() + 8), names: Vec::new() };
    for segment in segments(below) {
        reading.path.push('/');
        match segment.as_bytes() {
            // What net/http calls "exactly this path".
            b"{$}" => {}
            [b':', ..] => reading.colons(segment)?,
            [b'*', ..] => reading.placeholder(segment.trim_start_matches('*'))?,
            _ => reading.braces(segment)?,
        }
    }
    match reading.path.contains(['?', '#']) {
        true => Err("it is more than a path".into()),
        false => Ok((reading.path, reading.names)),
    }
}

struct Reading {
    path: String,
    names: Vec<String>,
}

impl Reading {
    /// `:from-:to.json`: a name ends with the first character that is not of one.
    fn colons(&mut self, segment: &str) -> Result<(), String> {
        let mut rest = segment;
        while let Some(after) = rest.strip_prefix(':') {
            let end = after.find(|c: char| !c.is_alphanumeric() && c != '_').unwrap_or(after.len());
            let (name, literal) = after.split_at(end);
            if name.is_empty() {
                return Err("a placeholder has no name".into());
            }
            self.placeholder(name)?;
            // `:id?` may be left out, which a tool has no way to say.
            let literal = literal.strip_prefix('?').unwrap_or(literal);
            let next = literal.find("-:").or_else(|| literal.find(".:")).map_or(literal.len(), |at| at + 1);
            self.literal(&literal[..next])?;
            rest = &literal[next..];
        }
        Ok(())
    }

    /// `{id}.json`, `{*rest}`, `{id:[0-9]{3}}`, `{rest...}`; `{{` and `}}` stand for braces.
    fn braces(&mut self, segment: &str) -> Result<(), String> {
        let mut rest = segment;
        while let Some(open) = rest.find(['{', '}']) {
            self.path.push_str(&rest[..open]);
            rest = &rest[open..];
            if rest.starts_with("{{") || rest.starts_with("}}") {
                return Err("it has braces that are no placeholder".into());
            }
            let end = closing(rest).ok_or("a brace has no partner")?;
            let inside = rest[1..end].trim_start_matches('*');
            let name = inside.split(':').next().unwrap_or_default();
            let name = name.strip_suffix("...").unwrap_or(name);
            if name.is_empty() && !rest[1..end].starts_with('*') {
                return Err("a placeholder has no name".into());
            }
            self.placeholder(name)?;
            rest = &rest[end + 1..];
        }
        self.path.push_str(rest);
        Ok(())
    }

    fn literal(&mut self, text: &str) -> Result<(), String> {
        if text.contains(['{', '}']) {
            return Err("it has braces that are no placeholder".into());
        }
        self.path.push_str(text);
        Ok(())
    }

    /// One without a name is called `wildcard`, the next one `wildcard_2`.
    fn placeholder(&mut self, name: &str) -> Result<(), String> {
        let unnamed = || {
            let count = self.names.iter().filter(|name| name.starts_with("wildcard")).count();
            if count == 0 { "wildcard".to_owned() } else { format!("wildcard_{}", count + 1) }
        };
        let name = if name.is_empty() { unnamed() } else { name.to_owned() };
        if name.contains(|c: char| !c.is_alphanumeric() && c != '_' && c != '-') {
            return Err(format!("{name:?} is not the name of a placeholder"));
        }
        if self.names.contains(&name) {
            return Err(format!("the placeholder {name:?} stands twice"));
        }
        self.path.push_str(&format!("{{{name}}}"));
        self.names.push(name);
        Ok(())
    }
}

/// Splits at slashes that are not in braces: an expression may hold some.
fn segments(path: &str) -> Vec<&str> {
    let (mut depth, mut begin, mut found) = (0_usize, 0, Vec::new());
    for (at, byte) in path.bytes().enumerate() {
        match byte {
            b'{' => depth += 1,
            b'}' => depth = depth.saturating_sub(1),
            b'/' if depth == 0 => {
                found.push(&path[begin..at]);
                begin = at + 1;
            }
            _ => {}
        }
    }
    found.push(&path[begin..]);
    found
}

/// Where the brace that `text` begins with is closed.
fn closing(text: &str) -> Option<usize> {
    let mut depth = 0_usize;
    text.bytes().enumerate().find_map(|(at, byte)| {
        match byte {
            b'{' => depth += 1,
            b'}' => depth = depth.checked_sub(1)?,
            _ => {}
        }
        (depth == 0).then_some(at)
    })
}
