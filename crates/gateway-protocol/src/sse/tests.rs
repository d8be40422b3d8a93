use proptest::prelude::*;

use super::*;

fn decode(chunks: &[&[u8]], limit: usize) -> Result<Vec<Event>, EventTooLarge> {
    let mut decoder = EventDecoder::new(limit);
    let mut events = Vec::new();
    for chunk in chunks {
        decoder.push(chunk);
        while let Some(event) = decoder.next_event()? {
            events.push(event);
        }
    }
    Ok(events)
}

#[track_caller]
fn check(stream: &str, expected: &[&str]) {
    let data: Vec<_> = decode(&[stream.as_bytes()], 1000)
        .unwrap()
        .iter()
        .map(|event| String::from_utf8(event.data.to_vec()).unwrap())
        .collect();
    assert_eq!(data, expected, "for {stream:?}");
}

#[test]
fn events_in_every_spelling() {
    check("data: a\n\n", &["a"]);
    check("data:a\r\rdata: b\r\n\r\n", &["a", "b"]);
    check("\u{feff}data: a\n\n", &["a"]);
    check(": hello\n\ndata: a\n: in between\ndata:  b\n\n", &["a\n b"]);
    check("event: message\ndata\n\n", &[""]);
    check("data: a\n", &[]);
    check("unknown: x\nevent: x\n\n", &[]);
    check("data: a:b: c\n\n", &["a:b: c"]);
}

#[test]
fn names_ids_and_retries() {
    let mut decoder = EventDecoder::new(1000);
    let mut check = |stream: &str,
                     events: &[(Option<&str>, &str)],
                     id: Option<&str>,
                     retry: Option<Duration>| {
        decoder.push(stream.as_bytes());
        for (name, data) in events {
            let event = decoder.next_event().unwrap().unwrap();
            assert_eq!((event.name.as_deref(), &event.data[..]), (*name, data.as_bytes()), "for {stream:?}");
        }
        assert_eq!(decoder.next_event(), Ok(None), "for {stream:?}");
        assert_eq!((decoder.last_id(), decoder.retry()), (id, retry), "for {stream:?}");
    };
    let ten = Some(Duration::from_millis(10));
    check("data: w\n\n", &[(None, "w")], None, None);
    check("event: endpoint\nid: 7\nretry: 10\ndata: x\n\n", &[(Some("endpoint"), "x")], Some("7"), ten);
    check("id: a\0b\nretry: -1\ndata: y\n\n", &[(None, "y")], Some("7"), ten);
    // Neither needs data; an id counts from the blank line on, a delay at once.
    check("id: 8\n\nid: 9\n", &[], Some("8"), ten);
    check("retry: 999999999999999999999999\n", &[], Some("8"), Some(RETRY_LIMIT));
    check("\nid\ndata: z\n\n", &[(None, "z")], Some(""), Some(RETRY_LIMIT));
}

#[test]
fn events_are_bounded_and_comments_are_not_kept() {
    assert_eq!(decode(&[b"data: 0123456789"], 8), Err(EventTooLarge { limit: 8 }));
    assert_eq!(decode(&[b"data: 01234\ndata: 56789\n"], 8), Err(EventTooLarge { limit: 8 }));
    let mut decoder = EventDecoder::new(16);
    for _ in 0..1000 {
        decoder.push(b": endless comment, endless comment");
        assert_eq!(decoder.next_event(), Ok(None));
        assert!(decoder.buffer.len() < 64);
    }
    decoder.push(b"\ndata: ok\n\n");
    assert_eq!(decoder.next_event().unwrap().unwrap().data, "ok");
}

#[test]
fn what_is_written_reads_back() {
    let written = [event(br#"{"a":1}"#), KEEP_ALIVE.to_vec(), event(b"{}")].concat();
    let events = decode(&[&written], 100).unwrap();
    assert_eq!(events.iter().map(|e| &e.data[..]).collect::<Vec<_>>(), [&br#"{"a":1}"#[..], b"{}"]);
}

proptest! {
    #[test]
    fn where_the_stream_is_split_makes_no_difference(
        stream in "(data: ?[ab]{0,3}|event: x|id: 1|: c|[\r\n])(\r|\n|\r\n)|[\r\n]{0,3}|(data:[ab]\n\n|\r|:c\r){0,8}",
        cuts in prop::collection::vec(0usize..80, 0..8)
    ) {
        let bytes = stream.as_bytes();
        let mut cuts: Vec<_> = cuts.into_iter().map(|cut| cut.min(bytes.len())).collect();
        cuts.sort_unstable();
        let (mut chunks, mut from) = (Vec::new(), 0);
        for cut in cuts {
            chunks.push(&bytes[from..cut]);
            from = cut;
        }
        chunks.push(&bytes[from..]);
        prop_assert_eq!(decode(&chunks, 64), decode(&[bytes], 64));
    }
}
