//! Reads event streams: all three line ends, comments, several lines of data, a byte order mark (WHATWG HTML,
//! server-sent events).

/// Bytes in, data of `message` events out.
#[derive(Debug, Default)]
pub(crate) struct EventReader {
    line: Vec<u8>,
    data: Option<String>,
    name: String,
    after_cr: bool,
    begun: bool,
}

impl EventReader {
    pub(crate) fn feed(&mut self, bytes: &[u8]) -> Vec<String> {
        let mut events = Vec::new();
        for &byte in bytes {
            let second_half = self.after_cr && byte == b'\n';
            self.after_cr = byte == b'\r';
            match byte {
                _ if second_half => {}
                b'\r' | b'\n' => events.extend(self.end_line()),
                _ => self.line.push(byte),
            }
        }
        events
    }

    fn end_line(&mut self) -> Option<String> {
        let bytes = std::mem::take(&mut self.line);
        let line = String::from_utf8_lossy(&bytes);
        let line = if self.begun { &line } else { line.trim_start_matches('\u{feff}') };
        self.begun = true;
        if line.is_empty() {
            let data = self.data.take().filter(|data| !data.is_empty());
            let name = std::mem::take(&mut self.name);
            return data.filter(|_| name.is_empty() || name == "message");
        }
        let (field, value) = line.split_once(':').unwrap_or((line, ""));
        let value = value.strip_prefix(' ').unwrap_or(value);
        match (field, &mut self.data) {
            ("data", Some(data)) => {
                data.push('\n');
                data.push_str(value);
            }
            ("data", data) => *data = Some(value.to_owned()),
            ("event", _) => value.clone_into(&mut self.name),
            _ => {}
        }
        None
    }
}
