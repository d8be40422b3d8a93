//! Streams cut into lines and events, wherever the network splits them.

use gateway_protocol::{
    ndjson::{Line, LineDecoder},
    sse::{self, Event, EventDecoder, EventTooLarge},
};

/// Small ones are reached by small inputs.
const LIMITS: [usize; 3] = [8, 64, 4096];

/// How a stream is split: all at once, byte by byte, and two ways between.
fn splits(data: &[u8]) -> [Vec<&[u8]>; 4] {
    let mut odd = Vec::new();
    let mut rest = data;
    while !rest.is_empty() {
        // Follows from the content, so that a failing input fails again.
        let size = 1 + rest.iter().take(3).map(|byte| usize::from(*byte)).sum::<usize>() % 7;
        let (chunk, more) = rest.split_at(size.min(rest.len()));
        odd.push(chunk);
        rest = more;
    }
    [vec![data], data.chunks(1).collect(), data.chunks(3).collect(), odd]
}

/// The same events however the stream is split, none larger than the limit, nothing kept beyond it.
pub(crate) fn sse(data: &[u8]) {
    for limit in LIMITS {
        let [whole, split @ ..] = splits(data).map(|chunks| events(&chunks, limit));
        for other in split {
            assert_eq!(other, whole, "with limit {limit}");
        }
        for event in whole.0 {
            assert!(event.data.len() <= limit);
            // Each byte that is not UTF-8 becomes a replacement character of three.
            assert!(event.name.is_none_or(|name| name.len() <= 3 * limit));
        }
    }
    let line: Vec<_> = data.iter().copied().filter(|byte| !matches!(byte, b'\n' | b'\r')).collect();
    let written = [sse::KEEP_ALIVE, &sse::event(&line), sse::KEEP_ALIVE].concat();
    let (read, end, _) = events(&[&written], line.len() + 16);
    assert_eq!((read.len(), end), (1, None));
    assert_eq!(read[0].data, line, "what is written reads back");
}

/// The events, the error at the end, and where the stream stands then.
fn events(chunks: &[&[u8]], limit: usize) -> (Vec<Event>, Option<EventTooLarge>, Option<String>) {
    let mut decoder = EventDecoder::new(limit);
    let (mut events, mut end) = (Vec::new(), None);
    'stream: for chunk in chunks {
        decoder.push(chunk);
        loop {
            match decoder.next_event() {
                Ok(Some(event)) => events.push(event),
                Ok(None) => break,
                Err(error) => {
                    end = Some(error);
                    break 'stream;
                }
            }
        }
    }
    let place = decoder.last_id().map(str::to_owned);
    assert!(place.as_ref().is_none_or(|id| !id.contains('\0')));
    (events, end, place)
}

/// The same lines however the stream is split, none longer than the limit, nothing kept beyond it.
pub(crate) fn ndjson(data: &[u8]) {
    for limit in LIMITS {
        let [whole, split @ ..] = splits(data).map(|chunks| lines(&chunks, limit));
        for other in split {
            assert_eq!(other, whole, "with limit {limit}");
        }
        for line in whole {
            let Line::Text(text) = line else { continue };
            assert!(text.len() <= limit, "{} bytes with limit {limit}", text.len());
            assert!(!text.contains(&b'\n') && !text.trim_ascii().is_empty());
        }
    }
}

fn lines(chunks: &[&[u8]], limit: usize) -> Vec<Line> {
    let mut decoder = LineDecoder::new(limit);
    let mut lines = Vec::new();
    for chunk in chunks {
        decoder.buffer().extend_from_slice(chunk);
        lines.extend(std::iter::from_fn(|| decoder.next_line()));
        // The CR of the line's end, and no more.
        assert!(decoder.buffer().len() <= limit + 1, "{} bytes are kept", decoder.buffer().len());
    }
    lines.extend(decoder.finish());
    lines
}
