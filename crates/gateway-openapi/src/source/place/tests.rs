use std::{
    pin::Pin,
    sync::atomic::{AtomicUsize, Ordering},
    task::{Context, Poll},
};

use async_trait::async_trait;
use http::{Response, StatusCode};
use hyper::body::{Body, Frame};

use super::*;

/// Answers every request in one way, after some time, in pieces.
#[derive(Debug, Default)]
struct Answers {
    status: StatusCode,
    after: Duration,
    pieces: Vec<&'static str>,
    never_ends: bool,
    asked: AtomicUsize,
}

#[async_trait]
impl HttpClient for Answers {
    async fn send(&self, request: Request<Bytes>) -> Result<Response<ResponseBody>, ClientError> {
        assert_eq!((request.method().as_str(), request.body().len()), ("GET", 0));
        self.asked.fetch_add(1, Ordering::Relaxed);
        tokio::time::sleep(self.after).await;
        let body = Pieces(self.pieces.clone().into_iter(), self.never_ends);
        Ok(Response::builder()
            .status(self.status)
            .header("location", "/other")
            .body(body.boxed_unsync())
            .unwrap())
    }
}

struct Pieces(std::vec::IntoIter<&'static str>, bool);

impl Body for Pieces {
    type Data = Bytes;
    type Error = ClientError;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        _: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, ClientError>>> {
        match self.0.next() {
            None if self.1 => Poll::Pending,
            next => Poll::Ready(next.map(|piece| Ok(Frame::data(Bytes::from_static(piece.as_bytes()))))),
        }
    }
}

fn url() -> Place {
    Place::parse("https://docs.example/shop.yaml?key=secret").unwrap()
}

#[track_caller]
fn check(fetched: Result<Bytes, SourceError>, expected: Result<&str, &str>) {
    let fetched =
        fetched.map(|bytes| String::from_utf8_lossy(&bytes).into_owned()).map_err(|e| e.to_string());
    assert_eq!(fetched.as_ref().map(String::as_str).map_err(String::as_str), expected);
}

#[tokio::test(start_paused = true)]
async fn a_url_is_asked_once_and_read_as_far_as_allowed() {
    let whole = Answers { pieces: vec!["open", "api: ", "3.1.0"], ..Answers::default() };
    check(url().fetch(Some(&whole), 14).await, Ok("openapi: 3.1.0"));
    check(url().fetch(Some(&whole), 13).await, Err("https://docs.example/shop.yaml has more than 13 bytes"));
    assert_eq!(whole.asked.load(Ordering::Relaxed), 2);
    check(
        url().fetch(None, 14).await,
        Err("cannot read https://docs.example/shop.yaml: there is no HTTP client to read URLs with"),
    );
}

#[tokio::test(start_paused = true)]
async fn only_success_is_a_document_and_no_redirect_is_followed() {
    for status in [199, 204, 301, 302, 304, 307, 308, 401, 404, 500, 503] {
        let answers = Answers { status: StatusCode::from_u16(status).unwrap(), ..Answers::default() };
        let expected = format!("cannot read https://docs.example/shop.yaml: HTTP {status}");
        let expected = if status == 204 { Ok("") } else { Err(expected.as_str()) };
        check(url().fetch(Some(&answers), 99).await, expected);
        assert_eq!(answers.asked.load(Ordering::Relaxed), 1);
    }
}

#[tokio::test(start_paused = true)]
async fn a_url_that_does_not_answer_in_time_is_given_up() {
    let late = Answers { after: Duration::from_secs(31), ..Answers::default() };
    let endless = Answers { pieces: vec!["x"], never_ends: true, ..Answers::default() };
    for answers in [late, endless] {
        let began = tokio::time::Instant::now();
        check(
            url().fetch(Some(&answers), 99).await,
            Err("cannot read https://docs.example/shop.yaml: no answer within 30s"),
        );
        assert_eq!(began.elapsed(), Place::TIME_LIMIT);
    }
}

#[tokio::test]
async fn files_are_read_as_far_as_allowed() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("shop.yaml");
    fs::write(&path, "openapi: 3.1.0").unwrap();
    let place = Place::File(path.clone());
    let name = path.display();
    check(place.fetch(None, 14).await, Ok("openapi: 3.1.0"));
    check(place.fetch(None, 13).await, Err(&format!("{name} has more than 13 bytes")));
    let folder_name = folder.path().display();
    check(
        Place::File(folder.path().into()).fetch(None, 14).await,
        Err(&format!("cannot read {folder_name}: not a file")),
    );
    fs::remove_file(&path).unwrap();
    let error = place.fetch(None, 14).await.unwrap_err().to_string();
    assert!(error.starts_with(&format!("cannot read {name}: ")), "{error}");
}

#[tokio::test]
async fn bytes_are_shared_and_bounded() {
    let place = Place::Bytes { name: "upload".into(), content: Bytes::from_static(b"{}") };
    check(place.fetch(None, 2).await, Ok("{}"));
    check(place.fetch(None, 1).await, Err("upload has more than 1 bytes"));
    assert_eq!(place.stamp().await, None);
    assert_eq!(format!("{place:?}"), "Bytes(\"upload\", 2)");
}

#[tokio::test]
async fn the_stamp_of_a_file_changes_with_its_size_and_its_time() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("shop.yaml");
    let place = Place::File(path.clone());
    assert_eq!(place.stamp().await, None);
    let long_ago = UNIX_EPOCH + Duration::from_secs(1_000_000_000);
    let write = |text: &str, time| {
        fs::write(&path, text).unwrap();
        fs::File::options().write(true).open(&path).unwrap().set_modified(time).unwrap();
    };
    write("a", long_ago);
    let first = place.stamp().await.unwrap();
    assert_eq!(place.stamp().await, Some(first));
    write("ab", long_ago);
    let longer = place.stamp().await.unwrap();
    write("ab", long_ago + Duration::from_millis(1));
    let later = place.stamp().await.unwrap();
    assert!(first != longer && longer != later && first != later);
}

#[test]
fn what_an_operator_writes_is_a_url_or_a_file() {
    assert_eq!(Place::parse("shop.yaml").unwrap(), Place::File("shop.yaml".into()));
    assert_eq!(Place::parse("/srv/http://x").unwrap(), Place::File("/srv/http://x".into()));
    assert!(matches!(Place::parse("HTTPS://docs.example/x"), Ok(Place::Url(_))));
    let error = Place::parse("https://me:secret@docs.example/x").unwrap_err().to_string();
    assert!(error.contains("user name or password") && !error.contains("secret"), "{error}");
    for shown in [url().name(), format!("{:?}", url())] {
        assert!(shown.contains("https://docs.example/shop.yaml") && !shown.contains("secret"), "{shown}");
    }
}

#[test]
fn places_that_are_not_the_same_have_identities_that_are_not() {
    let bytes =
        |name: &str, content: &'static str| Place::Bytes { name: name.into(), content: content.into() };
    let all = [
        url(),
        Place::parse("https://docs.example/shop.yaml?key=other").unwrap(),
        Place::parse("https://docs.example/shop.yaml").unwrap(),
        Place::parse("https://docs.example/").unwrap(),
        Place::parse("shop.yaml").unwrap(),
        bytes("shop.yaml", ""),
        bytes("shop.yaml", "x"),
        bytes("x", "x"),
    ];
    for (number, place) in all.iter().enumerate() {
        assert_eq!(place.identity(), place.clone().identity());
        for other in &all[..number] {
            assert_ne!(place.identity(), other.identity(), "{place:?} and {other:?}");
        }
    }
}
