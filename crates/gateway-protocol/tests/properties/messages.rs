//! JSON as it is read, written and spliced.

use bytes::Bytes;
use gateway_domain::{DEPTH_LIMIT, JsonError, RawJson, RawObject};
use gateway_protocol::{Answer, Incoming, Message, RequestId, write};
use serde_json::value::RawValue;

/// Reading never panics and agrees with serde_json on what JSON is; what was read has no line breaks, and
/// its own written form reads as the same message.
pub(crate) fn envelope(data: &[u8]) {
    agrees_with_serde(data);
    match Incoming::parse(Bytes::copy_from_slice(data)) {
        Ok(Incoming::Single(message)) => reads_back(&message),
        Ok(Incoming::Batch(messages)) => messages.iter().flatten().for_each(reads_back),
        Err(error) => assert!(!error.to_string().is_empty()),
    }
}

fn agrees_with_serde(data: &[u8]) {
    let ours = RawJson::parse(Bytes::copy_from_slice(data));
    let theirs = std::str::from_utf8(data).ok().and_then(|text| serde_json::from_str::<&RawValue>(text).ok());
    match (&ours, theirs) {
        (Ok(value), Some(_)) => {
            is_one_line(value.as_bytes());
            let again = RawJson::parse(value.clone().into_bytes());
            assert_eq!(again.as_ref(), Ok(value), "a value reads as itself");
        }
        (Err(JsonError::Depth { limit, .. }), _) => assert_eq!(*limit, DEPTH_LIMIT),
        (Err(_), None) => {}
        _ => panic!("ours: {ours:?}, theirs: {theirs:?}"),
    }
}

fn reads_back(message: &Message) {
    let written = written(message);
    let Some(written) = written else { return };
    is_one_line(&written);
    let again = Message::parse(written.clone().into());
    let again = again.unwrap_or_else(|error| panic!("{error}: {}", written.escape_ascii()));
    assert_eq!(facts(&again), facts(message));
}

/// `None` for a result without an id, which nobody sends.
fn written(message: &Message) -> Option<Vec<u8>> {
    Some(match message {
        Message::Request(request) => {
            write::request(&request.id, &request.method, request.params.object.as_str().as_bytes())
        }
        Message::Notification(notification) => {
            write::notification(&notification.method, notification.params.object.as_str().as_bytes())
        }
        Message::Response(response) => match (&response.id, &response.answer) {
            (id, Answer::Error(error)) => write::error(id.as_ref(), error.raw.as_str().as_bytes()),
            (Some(id), Answer::Result(result)) => write::result(id, result.as_str().as_bytes()),
            (None, Answer::Result(_)) => return None,
        },
    })
}

/// Everything that is known about a message: kind, id, method, content, `_meta`.
fn facts(message: &Message) -> (u8, Option<RequestId>, String, String, Option<String>) {
    let meta = |params: &gateway_domain::Params| params.meta.as_ref().map(|meta| meta.as_str().to_owned());
    match message {
        Message::Request(r) => {
            let params = r.params.object.as_str().to_owned();
            (0, Some(r.id.clone()), r.method.clone(), params, meta(&r.params))
        }
        Message::Notification(n) => {
            (1, None, n.method.clone(), n.params.object.as_str().to_owned(), meta(&n.params))
        }
        Message::Response(r) => match &r.answer {
            Answer::Result(result) => (2, r.id.clone(), String::new(), result.as_str().to_owned(), None),
            Answer::Error(error) => {
                (3, r.id.clone(), error.code.to_string(), error.raw.as_str().to_owned(), None)
            }
        },
    }
}

/// An edit changes the members it names, and no other byte.
///
/// The input is lines `=NAME<TAB>VALUE` (set) and `-NAME` (remove), then the object.
pub(crate) fn splice(data: &[u8]) {
    let Ok(text) = std::str::from_utf8(data) else { return };
    let (edits, object) = script(text);
    let Ok(object) = RawObject::parse(object.to_owned()) else { return };
    let before: Vec<_> = object.iter().map(|(name, value)| (name.into_owned(), value)).collect();
    // What each of its members becomes, and what is new.
    let mut members: Vec<_> =
        before.iter().map(|(name, value)| (name.clone(), Some(value.clone()))).collect();
    let mut added: Vec<(String, RawJson)> = Vec::new();
    let mut edit = object.edit();
    for (name, value) in edits {
        let own = members.iter_mut().find(|(own, _)| own == name);
        edit = match &value {
            Some(value) => edit.set(name, value.as_bytes()),
            None => edit.remove(name),
        };
        match (own, value) {
            (Some(own), value) => own.1 = value,
            (None, None) => added.retain(|(new, _)| new != name),
            (None, Some(value)) => match added.iter_mut().find(|(new, _)| new == name) {
                Some(new) => new.1 = value,
                None => added.push((name.to_owned(), value)),
            },
        }
    }
    let mut appended = b"before".to_vec();
    edit.write(&mut appended);
    let after = edit.finish();
    assert_eq!(appended.strip_prefix(b"before"), Some(after.as_bytes()));
    is_one_line(after.as_bytes());
    let after = RawObject::try_from(after).unwrap_or_else(|error| panic!("{error} after the edit"));
    let kept = members.iter().filter_map(|(name, value)| Some((name.clone(), value.clone()?)));
    let expected: Vec<_> = kept.chain(added.iter().cloned()).collect();
    let found: Vec<_> = after.iter().map(|(name, value)| (name.into_owned(), value)).collect();
    assert_eq!(found, expected);
    if members.iter().all(|(_, value)| value.is_some()) {
        let undo = added.iter().fold(after.edit(), |edit, (name, _)| edit.remove(name));
        let undo = before.iter().fold(undo, |edit, (name, value)| edit.set(name, value.as_bytes()));
        assert_eq!(undo.finish(), *object.raw(), "undone, it is what it was");
    } else if added.is_empty()
        && members.iter().zip(&before).all(|(a, b)| a.1.as_ref().is_none_or(|v| *v == b.1))
    {
        assert!(is_subsequence(after.as_str(), object.as_str()), "removing only takes away");
    }
}

/// The edits (`None` removes) and the text of the object.
fn script(mut text: &str) -> (Vec<(&str, Option<RawJson>)>, &str) {
    let mut edits = Vec::new();
    while let Some((line, rest)) = text.split_once('\n').filter(|_| edits.len() < 32) {
        if let Some(name) = line.strip_prefix('-') {
            edits.push((name, None));
        } else if let Some((name, value)) = line.strip_prefix('=').and_then(|line| line.split_once('\t')) {
            // An edit takes JSON only.
            let Ok(value) = RawJson::parse(value.to_owned()) else { return (edits, "") };
            edits.push((name, Some(value)));
        } else {
            break;
        }
        text = rest;
    }
    (edits, text)
}

fn is_subsequence(part: &str, whole: &str) -> bool {
    let mut whole = whole.bytes();
    part.bytes().all(|byte| whole.any(|other| other == byte))
}

fn is_one_line(bytes: &[u8]) {
    assert!(
        !bytes.iter().any(|byte| matches!(byte, b'\n' | b'\r')),
        "line break in {}",
        bytes.escape_ascii()
    );
}
