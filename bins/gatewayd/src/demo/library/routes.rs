use bytes::Bytes;
use http::{Method, Request};
use serde::Serialize;

use super::{
    Answer,
    book::{Book, Details, Subject},
    query::Query,
    shelf::Shelf,
};

const COVER: &[u8] = include_bytes!("cover.png");

#[derive(Serialize)]
struct Page<'a> {
    total: usize,
    books: &'a [&'a Book],
    #[serde(skip_serializing_if = "Option::is_none")]
    next: Option<usize>,
}

pub(super) fn answer(shelf: &mut Shelf, request: &Request<Bytes>) -> Answer {
    let query = Query::parse(request.uri().query().unwrap_or_default());
    let segments: Vec<_> = request.uri().path().split('/').skip(1).collect();
    let id = segments.get(1).and_then(|segment| segment.parse().ok());
    match (segments.as_slice(), id) {
        (["books"], _) => match *request.method() {
            Method::GET => or_problem(list(shelf, &query)),
            Method::POST => or_problem(add(shelf, request.body())),
            _ => not_allowed(),
        },
        (["books", _], Some(id)) => match *request.method() {
            Method::GET => shelf.get(id).map_or_else(|| no_book(id), |book| Answer::json(200, book)),
            Method::PUT => or_problem(replace(shelf, id, request.body())),
            Method::DELETE if shelf.remove(id) => empty(),
            Method::DELETE => no_book(id),
            _ => not_allowed(),
        },
        (["books", _, "cover"], Some(id)) if request.method() == Method::GET => cover(shelf, id),
        (["search"], _) if request.method() == Method::GET => or_problem(search(shelf, &query)),
        _ => Answer::problem(404, "there is nothing here"),
    }
}

fn list(shelf: &Shelf, query: &Query) -> Result<Answer, String> {
    let author = query.folded("author");
    let (from, to) = (i32::MIN, i32::MAX);
    let years = query.number("from", from, from, to)?..=query.number("to", to, from, to)?;
    let limit = query.number("limit", 5, 1, 50)?;
    let offset = query.number("offset", 0, 0, usize::MAX)?;
    let mut found =
        shelf.by_title(|book| book.author.to_lowercase().contains(&author) && years.contains(&book.year));
    match query.folded("sort").as_str() {
        "" | "title" => {}
        "year" => found.sort_by_key(|book| book.details.year),
        _ => return Err("sort is title or year".into()),
    }
    let end = offset.saturating_add(limit);
    let books = found.get(offset.min(found.len())..end.min(found.len())).unwrap_or_default();
    let next = (end < found.len()).then_some(end);
    Ok(Answer::json(200, &Page { total: found.len(), books, next }))
}

fn search(shelf: &Shelf, query: &Query) -> Result<Answer, String> {
    let text = query.folded("text");
    let subject = |word| Subject::parse(word).ok_or_else(|| format!("no book here is about {word}"));
    let subjects = query.all("subject").map(subject).collect::<Result<Vec<_>, _>>()?;
    let has_text = |part: &str| part.to_lowercase().contains(&text);
    let found = shelf.by_title(|book| {
        let is_about_all = subjects.iter().all(|subject| book.subjects.contains(subject));
        is_about_all && (has_text(&book.title) || has_text(&book.author))
    });
    Ok(Answer::json(200, &found))
}

fn add(shelf: &mut Shelf, body: &Bytes) -> Result<Answer, String> {
    let details = details(body)?;
    let added = shelf.add(details);
    Ok(added.map_or_else(|| Answer::problem(409, "the shelf is full"), |book| Answer::json(201, book)))
}

fn replace(shelf: &mut Shelf, id: u32, body: &Bytes) -> Result<Answer, String> {
    let details = details(body)?;
    Ok(shelf.replace(id, details).map_or_else(|| no_book(id), |book| Answer::json(200, book)))
}

fn details(body: &Bytes) -> Result<Details, String> {
    let details: Details =
        serde_json::from_slice(body).map_err(|error| format!("that is not a book: {error}"))?;
    if details.is_sound() { Ok(details) } else { Err("that is not a book: too long or too short".into()) }
}

fn cover(shelf: &Shelf, id: u32) -> Answer {
    match shelf.get(id) {
        Some(_) => Answer { status: 200, media_type: Some("image/png"), body: Bytes::from_static(COVER) },
        None => no_book(id),
    }
}

fn empty() -> Answer {
    Answer { status: 204, media_type: None, body: Bytes::new() }
}

fn no_book(id: u32) -> Answer {
    Answer::problem(404, &format!("there is no book {id}"))
}

fn not_allowed() -> Answer {
    Answer::problem(405, "that is not allowed here")
}

fn or_problem(answer: Result<Answer, String>) -> Answer {
    answer.unwrap_or_else(|problem| Answer::problem(400, &problem))
}
