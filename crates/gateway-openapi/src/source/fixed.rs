use std::{fmt, future::Future};

use async_trait::async_trait;

use super::{Source, SourceError};
use crate::ir::Listing;

/// A list that does not change (E-39), for whoever knows the operations already.
#[derive(Debug, Clone)]
pub struct Fixed {
    name: String,
    listing: Listing,
}

impl Fixed {
    /// Operations, or everything that a source may know.
    pub fn new(listing: impl Into<Listing>) -> Self {
        Self { name: "a fixed list".into(), listing: listing.into() }
    }

    /// The word that errors and logs have for it.
    #[must_use]
    pub fn with_name(self, name: impl Into<String>) -> Self {
        Self { name: name.into(), ..self }
    }
}

#[async_trait]
impl Source for Fixed {
    fn name(&self) -> String {
        self.name.clone()
    }

    async fn load(&self) -> Result<Listing, SourceError> {
        Ok(self.listing.clone())
    }
}

/// A closure as source (E-39): it is called for each [`Source::load`]. `name` is what errors and logs call it.
///
/// ```
/// use gateway_openapi::{ir::{Method, Operation}, source::{self, Source}};
///
/// let source = source::from_fn("inventory", async || Ok(vec![Operation::new("stock", Method::Get, "/stock")]));
/// # tokio::runtime::Builder::new_current_thread().build().unwrap().block_on(async {
/// assert_eq!(source.load().await.unwrap().operations[0].id, "stock");
/// # });
/// ```
pub fn from_fn<F, R, L>(name: impl Into<String>, load: F) -> impl Source
where
    F: Fn() -> R + Send + Sync,
    R: Future<Output = Result<L, SourceError>> + Send,
    L: Into<Listing>,
{
    Closure { name: name.into(), load }
}

struct Closure<F> {
    name: String,
    load: F,
}

impl<F> fmt::Debug for Closure<F> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Closure({:?})", self.name)
    }
}

#[async_trait]
impl<F, R, L> Source for Closure<F>
where
    F: Fn() -> R + Send + Sync,
    R: Future<Output = Result<L, SourceError>> + Send,
    L: Into<Listing>,
{
    fn name(&self) -> String {
        self.name.clone()
    }

    async fn load(&self) -> Result<Listing, SourceError> {
        Ok((self.load)().await?.into())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ir::{Method, Operation};

    fn operations() -> Vec<Operation> {
        vec![Operation::new("b", Method::Post, "/b"), Operation::new("a", Method::Get, "/a")]
    }

    #[tokio::test]
    async fn a_fixed_list_is_yielded_in_its_order() {
        let source = Fixed::new(operations()).with_name("inventory");
        assert_eq!(source.load().await.unwrap().operations, operations());
        assert_eq!(source.load().await.unwrap().operations, operations());
        assert_eq!((source.name().as_str(), source.stamp().await), ("inventory", None));
    }

    #[tokio::test]
    async fn a_closure_is_asked_each_time_and_may_fail() {
        let asked = std::sync::atomic::AtomicUsize::new(0);
        let source = from_fn("inventory", || {
            let count = asked.fetch_add(1, std::sync::atomic::Ordering::Relaxed);
            async move {
                let failed =
                    SourceError::Unreadable { source_name: "inventory".into(), reason: "gone".into() };
                if count == 0 { Ok(operations()) } else { Err(failed) }
            }
        });
        assert_eq!(source.load().await.unwrap().operations.len(), 2);
        assert_eq!(source.load().await.unwrap_err().to_string(), "cannot read inventory: gone");
    }
}
