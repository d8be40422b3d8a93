//! The built-in HTTP API of the demonstration: a small library, its description, and nothing that listens.
//!
//! **For**: showing what becomes of an HTTP API (design §11), with pages, arrays, a picture and operations that change
//! something, on a machine that has nothing else installed.
//!
//! **Must not know**: the gateway, MCP. It answers HTTP requests, which happen to come without a connection.

mod book;
mod query;
mod routes;
mod shelf;

use std::sync::{Mutex, PoisonError};

use async_trait::async_trait;
use bytes::Bytes;
use gateway_openapi::engine::{ClientError, HttpClient, ResponseBody};
use http::{Request, Response, header};
use http_body_util::{BodyExt as _, Full};

use shelf::Shelf;

/// What it can be asked, as OpenAPI 3.1.
pub(crate) const DESCRIPTION: &str = include_str!("library.yaml");

/// What stands for the description in a configuration.
pub(crate) const PLACE: &str = "builtin:library";

/// The library, with its books.
#[derive(Debug, Default)]
pub(crate) struct Library {
    shelf: Mutex<Shelf>,
}

/// An answer before it is one of HTTP.
#[derive(Debug)]
struct Answer {
    status: u16,
    media_type: Option<&'static str>,
    body: Bytes,
}

impl Answer {
    fn json(status: u16, body: &impl serde::Serialize) -> Self {
        let body = serde_json::to_vec(body).unwrap_or_default().into();
        Self { status, media_type: Some("application/json"), body }
    }

    fn problem(status: u16, problem: &str) -> Self {
        Self::json(status, &std::collections::BTreeMap::from([("problem", problem)]))
    }
}

#[async_trait]
impl HttpClient for Library {
    async fn send(&self, request: Request<Bytes>) -> Result<Response<ResponseBody>, ClientError> {
        let answer = {
            let mut shelf = self.shelf.lock().unwrap_or_else(PoisonError::into_inner);
            routes::answer(&mut shelf, &request)
        };
        let body = Full::new(answer.body).map_err(|never| match never {}).boxed_unsync();
        let mut response = Response::builder().status(answer.status);
        if let Some(media_type) = answer.media_type {
            response = response.header(header::CONTENT_TYPE, media_type);
        }
        response.body(body).map_err(|error| ClientError { reason: error.to_string(), is_unsent: true })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const BASE_URL: &str = "http://library.invalid";

    async fn ask(library: &Library, line: &str, body: &str) -> (u16, String) {
        let (method, path) = line.split_once(' ').unwrap();
        let request = Request::builder().method(method).uri(format!("{BASE_URL}{path}"));
        let response = library.send(request.body(Bytes::from(body.to_owned())).unwrap()).await.unwrap();
        let status = response.status().as_u16();
        let body = response.into_body().collect().await.unwrap().to_bytes();
        (status, String::from_utf8_lossy(&body).into_owned())
    }

    async fn check(line: &str, status: u16, expected: &str) {
        let (answered, body) = ask(&Library::default(), line, "").await;
        assert_eq!(answered, status, "{line}: {body}");
        assert!(body.contains(expected), "{line}: {body}");
    }

    #[tokio::test]
    async fn books_are_found_by_what_is_known_of_them() {
        check("GET /books", 200, r#"{"total":12,"books":[{"id":9,"title":"A Tale of Two Cities""#).await;
        check("GET /books?limit=2&offset=4", 200, r#","next":6}"#).await;
        check("GET /books?limit=2&offset=10", 200, "}]}").await;
        check("GET /books?author=MARY+sh&sort=year", 200, r#"{"total":1,"books":[{"id":1,"title":"Frank"#)
            .await;
        check("GET /books?from=1897&to=1898", 200, r#"{"total":3,"#).await;
        check("GET /books?offset=12", 200, r#"{"total":12,"books":[]}"#).await;
        check("GET /books/4", 200, r#"{"id":4,"title":"Twenty Thousand Leagues Under the Seas","#).await;
        check("GET /search?subject=sea&subject=science", 200, r#"[{"id":4,"#).await;
        check("GET /search?text=jules%20v&subject=science", 200, r#""author":"Jules Verne""#).await;
        check("GET /search?text=nowhere", 200, "[]").await;
        check("GET /books/4/cover", 200, "PNG").await;
    }

    #[tokio::test]
    async fn what_is_not_understood_is_a_problem() {
        check("GET /books/99", 404, r#"{"problem":"there is no book 99"}"#).await;
        check("GET /books/99/cover", 404, "there is no book 99").await;
        check("GET /books/x", 404, "there is nothing here").await;
        check("GET /", 404, "there is nothing here").await;
        check("PATCH /books/1", 405, "not allowed").await;
        check("GET /books?limit=0", 400, "limit").await;
        check("GET /books?limit=many", 400, "limit").await;
        check("GET /books?sort=size", 400, "sort").await;
        check("GET /search?subject=cooking", 400, "cooking").await;
        check("POST /books", 400, "not a book").await;
    }

    #[tokio::test]
    async fn changes_are_kept_while_the_library_lives() {
        let library = Library::default();
        let book = r#"{"title":"Emma","author":"Jane Austen","year":1815,"subjects":["society"]}"#;
        let (status, body) = ask(&library, "POST /books", book).await;
        assert_eq!((status, body.contains(r#""id":13,"title":"Emma""#)), (201, true), "{body}");
        let (status, body) = ask(&library, "PUT /books/13", &book.replace("1815", "1816")).await;
        assert_eq!((status, body.contains(r#""year":1816"#)), (200, true), "{body}");
        assert_eq!(ask(&library, "DELETE /books/13", "").await, (204, String::new()));
        assert_eq!(ask(&library, "DELETE /books/13", "").await.0, 404);
        assert_eq!(ask(&library, "PUT /books/13", book).await.0, 404);
        assert_eq!(ask(&library, "POST /books", &book.replace("Emma", "")).await.0, 400);
        assert_eq!(ask(&library, "POST /books", &book.replace("society", "cooking")).await.0, 400);
        for _ in 12..100 {
            assert_eq!(ask(&library, "POST /books", book).await.0, 201);
        }
        assert_eq!(ask(&library, "POST /books", book).await.0, 409);
        assert_eq!(ask(&Library::default(), "GET /books/13", "").await.0, 404);
    }
}
