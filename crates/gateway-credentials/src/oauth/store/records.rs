use std::sync::Arc;

use gateway_domain::Secret;
use serde::{Deserialize, Serialize, de::DeserializeOwned};
use zeroize::Zeroizing;

use super::{Slot, StoreError, TokenStore, slot::Owner};
use crate::oauth::{
    client::{Client, Method},
    grant::Granted,
    scopes::Scopes,
};

/// The documents of a store, by their types.
#[derive(Debug, Clone)]
pub(crate) struct Records(Arc<dyn TokenStore>);

/// Tokens with all that renewing them takes, so that they are never used with another issuer or client.
#[derive(Debug, Clone)]
pub(crate) struct Tokens {
    pub(crate) granted: Granted,
    /// What was asked for, which is what was granted where the answer did not say.
    pub(crate) requested: Scopes,
    pub(crate) issuer: String,
    pub(crate) token_url: String,
    /// The `resource` parameter.
    pub(crate) resource: String,
    pub(crate) client: Client,
}

/// Which issuer an owner's tokens are of, and what scopes the server wants.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct Binding {
    pub(crate) issuer: String,
    /// All that was ever asked for or wanted.
    pub(crate) wanted: Scopes,
}

impl Records {
    pub(crate) fn new(store: Arc<dyn TokenStore>) -> Self {
        Self(store)
    }

    pub(crate) async fn tokens(
        &self,
        issuer: &str,
        resource: &str,
        owner: &Owner,
    ) -> Result<Option<Tokens>, StoreError> {
        let document: Option<TokensDocument> = self.load(&Slot::tokens(issuer, resource, owner)).await?;
        Ok(document.map(TokensDocument::into_tokens).filter(|tokens| tokens.issuer == issuer))
    }

    pub(crate) async fn keep_tokens(
        &self,
        resource: &str,
        owner: &Owner,
        tokens: &Tokens,
    ) -> Result<(), StoreError> {
        self.save(&Slot::tokens(&tokens.issuer, resource, owner), &TokensDocument::of(tokens)).await
    }

    pub(crate) async fn forget_tokens(
        &self,
        issuer: &str,
        resource: &str,
        owner: &Owner,
    ) -> Result<(), StoreError> {
        self.0.remove(&Slot::tokens(issuer, resource, owner)).await
    }

    pub(crate) async fn binding(&self, resource: &str, owner: &Owner) -> Result<Option<Binding>, StoreError> {
        let document: Option<BindingDocument> = self.load(&Slot::binding(resource, owner)).await?;
        Ok(document.map(|found| Binding { issuer: found.issuer, wanted: Scopes::read(&found.wanted) }))
    }

    pub(crate) async fn keep_binding(
        &self,
        resource: &str,
        owner: &Owner,
        binding: &Binding,
    ) -> Result<(), StoreError> {
        let document = BindingDocument { issuer: binding.issuer.clone(), wanted: binding.wanted.parameter() };
        self.save(&Slot::binding(resource, owner), &document).await
    }

    pub(crate) async fn client(&self, slot: &Slot) -> Result<Option<Client>, StoreError> {
        Ok(self.load::<ClientDocument>(slot).await?.map(ClientDocument::into_client))
    }

    pub(crate) async fn keep_client(&self, slot: &Slot, client: &Client) -> Result<(), StoreError> {
        self.save(slot, &ClientDocument::of(client)).await
    }

    pub(crate) async fn forget_client(&self, slot: &Slot) -> Result<(), StoreError> {
        self.0.remove(slot).await
    }

    async fn load<T: DeserializeOwned>(&self, slot: &Slot) -> Result<Option<T>, StoreError> {
        let Some(bytes) = self.0.load(slot).await? else { return Ok(None) };
        serde_json::from_slice(&bytes).map(Some).map_err(|_| StoreError::Unreadable)
    }

    async fn save(&self, slot: &Slot, document: &impl Serialize) -> Result<(), StoreError> {
        let bytes = serde_json::to_vec(document).map_err(|_| StoreError::Unreadable)?;
        self.0.save(slot, Zeroizing::new(bytes)).await
    }
}

/// A secret in a document: its memory is overwritten in the end.
#[derive(Serialize, Deserialize)]
#[serde(transparent)]
struct Hidden(Zeroizing<String>);

impl Hidden {
    fn of(secret: &Secret) -> Self {
        Self(Zeroizing::new(secret.expose().to_owned()))
    }

    fn into_secret(mut self) -> Secret {
        Secret::new(std::mem::take(&mut *self.0))
    }
}

#[derive(Serialize, Deserialize)]
struct ClientDocument {
    id: String,
    secret: Option<Hidden>,
    method: Method,
}

impl ClientDocument {
    fn of(client: &Client) -> Self {
        Self { id: client.id.clone(), secret: client.secret.as_ref().map(Hidden::of), method: client.method }
    }

    fn into_client(self) -> Client {
        Client { id: self.id, secret: self.secret.map(Hidden::into_secret), method: self.method }
    }
}

#[derive(Serialize, Deserialize)]
struct TokensDocument {
    access: Hidden,
    refresh: Option<Hidden>,
    fresh_until: Option<u64>,
    granted: Option<String>,
    requested: String,
    issuer: String,
    token_url: String,
    resource: String,
    client: ClientDocument,
}

impl TokensDocument {
    fn of(tokens: &Tokens) -> Self {
        let granted = &tokens.granted;
        Self {
            access: Hidden::of(&granted.access),
            refresh: granted.refresh.as_ref().map(Hidden::of),
            fresh_until: granted.fresh_until,
            granted: granted.scopes.as_ref().map(Scopes::parameter),
            requested: tokens.requested.parameter(),
            issuer: tokens.issuer.clone(),
            token_url: tokens.token_url.clone(),
            resource: tokens.resource.clone(),
            client: ClientDocument::of(&tokens.client),
        }
    }

    fn into_tokens(self) -> Tokens {
        Tokens {
            granted: Granted {
                access: self.access.into_secret(),
                refresh: self.refresh.map(Hidden::into_secret),
                fresh_until: self.fresh_until,
                scopes: self.granted.as_deref().map(Scopes::read),
            },
            requested: Scopes::read(&self.requested),
            issuer: self.issuer,
            token_url: self.token_url,
            resource: self.resource,
            client: self.client.into_client(),
        }
    }
}

#[derive(Serialize, Deserialize)]
struct BindingDocument {
    issuer: String,
    wanted: String,
}
