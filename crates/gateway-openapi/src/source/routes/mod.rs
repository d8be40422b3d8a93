//! Tables of routes as sources (E-47): what a router in the same process already knows of an API.

mod pattern;
#[cfg(test)]
mod tests;

use std::{fmt, sync::Arc};

use async_trait::async_trait;
use gateway_domain::RawJson;

use super::{Source, SourceError, identity::operation_id};
use crate::ir::{Body, Listing, Location, Method, Operation, Param, Skipped};

/// One route of a router.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Route {
    /// The method's name, in any case. Routes with another one than [`Method::ALL`] become no operations; routers
    /// have such for middleware.
    pub method: String,
    /// The path as the router writes it. Placeholders are `{id}` and `{*rest}` (axum, matchit, actix-web), also with an
    /// expression (`{id:[0-9]+}`, chi) or dots (`{rest...}`); or segments that begin with a colon or a star: `:id`,
    /// `*rest`, and a bare `*` is called `wildcard` (Gin, Echo, Fiber).
    pub pattern: String,
    /// The operation's id; `None`: made from method and path.
    pub id: Option<String>,
    /// What it does, in a few words.
    pub summary: Option<String>,
    /// Words to choose it by.
    pub tags: Vec<String>,
}

impl Route {
    /// A route of which only method and path are known.
    pub fn new(method: impl Into<String>, pattern: impl Into<String>) -> Self {
        Self { method: method.into(), pattern: pattern.into(), id: None, summary: None, tags: Vec::new() }
    }
}

impl<M: Into<String>, P: Into<String>> From<(M, P)> for Route {
    fn from((method, pattern): (M, P)) -> Self {
        Self::new(method, pattern)
    }
}

/// A router that can tell its routes; the adapter to write for one that this crate does not know.
pub trait RouteTable: Send + Sync {
    /// Its routes, in an order that need not mean anything.
    fn routes(&self) -> Vec<Route>;
}

impl<R: Into<Route> + Clone + Send + Sync> RouteTable for Vec<R> {
    fn routes(&self) -> Vec<Route> {
        self.iter().cloned().map(Into::into).collect()
    }
}

impl<R: Into<Route> + Clone + Send + Sync, const N: usize> RouteTable for [R; N] {
    fn routes(&self) -> Vec<Route> {
        self.iter().cloned().map(Into::into).collect()
    }
}

/// Knows the JSON Schema of an operation's JSON body by the operation's id (E-48): from types, say.
pub type BodySchemas = Arc<dyn Fn(&str) -> Option<RawJson> + Send + Sync>;

/// The operations of a [`RouteTable`], sorted as E-41 says. All parameters are strings in the path; a value is one
/// segment also where the router would take several.
///
/// ```
/// use gateway_openapi::source::{Routes, Source};
///
/// // What was given to `axum::Router::route`, or inserted into a `matchit::Router`.
/// let table = [("GET", "/users/{id}"), ("POST", "/users"), ("GET", "/files/{*rest}"), ("OPTIONS", "/users")];
/// let source = Routes::new(table).with_bodies(|id| {
///     (id == "post_users").then(|| gateway_domain::RawJson::parse(r#"{"type":"object"}"#).ok()).flatten()
/// });
/// # tokio::runtime::Builder::new_current_thread().build().unwrap().block_on(async {
/// let listing = source.load().await.unwrap();
/// let ids: Vec<_> = listing.operations.iter().map(|operation| operation.id.as_str()).collect();
/// assert_eq!(ids, ["get_files_rest", "post_users", "get_users_id"]);
/// assert_eq!(listing.operations[0].path, "/files/{rest}");
/// assert_eq!(listing.skipped[0].method, "OPTIONS");
/// # });
/// ```
#[derive(Clone)]
pub struct Routes<T> {
    name: String,
    table: T,
    bodies: Option<BodySchemas>,
}

impl<T: RouteTable> Routes<T> {
    /// All that the table has.
    pub fn new(table: T) -> Self {
        Self { name: "the route table".into(), table, bodies: None }
    }

    /// The word that errors and logs have for it.
    #[must_use]
    pub fn with_name(self, name: impl Into<String>) -> Self {
        Self { name: name.into(), ..self }
    }

    /// Asks for the schema of each operation's body (E-48). An operation for which there is one needs a body.
    #[must_use]
    pub fn with_bodies(self, schema: impl Fn(&str) -> Option<RawJson> + Send + Sync + 'static) -> Self {
        Self { bodies: Some(Arc::new(schema)), ..self }
    }

    fn operation(&self, route: &Route) -> Result<Operation, String> {
        let method =
            Method::parse(&route.method).ok_or_else(|| "the method is none that is offered".to_owned())?;
        let (path, names) = pattern::read(&route.pattern)?;
        let id = operation_id(route.id.as_deref(), method, &path);
        let schema = self.bodies.as_ref().and_then(|bodies| bodies(&id));
        Ok(Operation {
            summary: route.summary.clone(),
            tags: route.tags.clone(),
            params: names.into_iter().map(string_in_path).collect(),
            body: schema.map(|schema| Body { required: true, ..Body::json(Some(schema)) }),
            ..Operation::new(id, method, path)
        })
    }
}

#[async_trait]
impl<T: RouteTable> Source for Routes<T> {
    fn name(&self) -> String {
        self.name.clone()
    }

    async fn load(&self) -> Result<Listing, SourceError> {
        let mut listing = Listing::default();
        for route in self.table.routes() {
            match self.operation(&route) {
                Ok(operation) => listing.operations.push(operation),
                Err(reason) => listing.skipped.push(Skipped {
                    method: route.method.to_ascii_uppercase(),
                    path: route.pattern,
                    id: route.id,
                    reason,
                }),
            }
        }
        listing.operations.sort_by(|a, b| (&a.path, a.method).cmp(&(&b.path, b.method)));
        Ok(listing)
    }
}

impl<T> fmt::Debug for Routes<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Routes({:?})", self.name)
    }
}

fn string_in_path(name: String) -> Param {
    let schema = RawJson::parse(r#"{"type":"string"}"#).ok();
    Param { schema, ..Param::new(name, Location::Path) }
}
