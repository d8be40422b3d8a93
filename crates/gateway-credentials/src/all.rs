use std::sync::Arc;

use async_trait::async_trait;
use gateway_domain::Incoming;
use gateway_egress::{Challenge, CredentialError, Credentials, Reaction};
use http::{HeaderName, HeaderValue};

/// Several credentials together. Of those that use the same header the first counts; if one lacks, all do.
#[derive(Debug)]
pub struct All(pub Vec<Arc<dyn Credentials>>);

#[async_trait]
impl Credentials for All {
    async fn headers(
        &self,
        incoming: Option<&Incoming>,
    ) -> Result<Vec<(HeaderName, HeaderValue)>, CredentialError> {
        let mut headers: Vec<(HeaderName, HeaderValue)> = Vec::new();
        for credentials in &self.0 {
            let mut more = credentials.headers(incoming).await?;
            more.retain(|(name, _)| !headers.iter().any(|(taken, _)| taken == name));
            headers.append(&mut more);
        }
        Ok(headers)
    }

    /// Each is asked, so that each can renew what it has.
    async fn refused(
        &self,
        incoming: Option<&Incoming>,
        challenge: &Challenge<'_>,
    ) -> Result<Reaction, CredentialError> {
        let mut reaction = Reaction::GiveUp;
        for credentials in &self.0 {
            if credentials.refused(incoming, challenge).await? == Reaction::Retry {
                reaction = Reaction::Retry;
            }
        }
        Ok(reaction)
    }

    fn is_per_caller(&self) -> bool {
        self.0.iter().any(|credentials| credentials.is_per_caller())
    }
}

#[cfg(test)]
mod tests {
    use gateway_domain::{Caller, Secret};
    use http::StatusCode;

    use super::*;
    use crate::{
        fixed::{Fixed, Source},
        forward::Forward,
    };

    fn fixed(name: &str, value: &str) -> Arc<dyn Credentials> {
        Arc::new(Fixed::header(name, Source::Value(Secret::new(value))).unwrap())
    }

    #[derive(Debug)]
    struct Renewing;

    #[async_trait]
    impl Credentials for Renewing {
        async fn headers(
            &self,
            _: Option<&Incoming>,
        ) -> Result<Vec<(HeaderName, HeaderValue)>, CredentialError> {
            Err(CredentialError::Unavailable { reason: "none".into() })
        }

        async fn refused(
            &self,
            _: Option<&Incoming>,
            _: &Challenge<'_>,
        ) -> Result<Reaction, CredentialError> {
            Ok(Reaction::Retry)
        }
    }

    #[tokio::test]
    async fn the_first_to_use_a_header_has_it() {
        let all = All(vec![fixed("x-a", "1"), fixed("x-b", "2"), fixed("X-A", "3")]);
        let headers = all.headers(None).await.unwrap();
        let expected = [("x-a", "1"), ("x-b", "2")];
        assert_eq!(headers, expected.map(|(name, value)| (name.parse().unwrap(), value.parse().unwrap())));
        assert!(All(vec![fixed("x-a", "1"), Arc::new(Renewing)]).headers(None).await.is_err());
    }

    #[tokio::test]
    async fn one_that_has_others_now_is_enough_to_try_again() {
        let challenge = Challenge { status: StatusCode::UNAUTHORIZED, authenticate: &[], sent: &[] };
        let check = async |all: Vec<Arc<dyn Credentials>>, expected| {
            assert_eq!(All(all).refused(None, &challenge).await.unwrap(), expected);
        };
        check(vec![fixed("x-a", "1")], Reaction::GiveUp).await;
        check(vec![Arc::new(Renewing), fixed("x-a", "1")], Reaction::Retry).await;
        check(Vec::new(), Reaction::GiveUp).await;
    }

    #[tokio::test]
    async fn one_that_depends_on_the_caller_makes_all_depend() {
        let forward: Arc<dyn Credentials> = Arc::new(Forward::new(["x-user"], &[]).unwrap());
        assert!(!All(vec![fixed("x-a", "1")]).is_per_caller());
        let all = All(vec![fixed("x-a", "1"), forward]);
        assert!(all.is_per_caller());
        let mut incoming = Incoming::from(Caller::anonymous());
        incoming.headers.push(("x-user".into(), Secret::new("ann")));
        assert_eq!(all.headers(Some(&incoming)).await.unwrap().len(), 2);
    }
}
