use super::{
    OauthError,
    address::Address,
    challenge::BearerChallenge,
    config::Checked,
    documents::{IssuerMetadata, ResourceMetadata},
    scopes::Scopes,
    trust::Trust,
    wire::{Place, Wire},
};

/// Where a server's tokens come from.
#[derive(Debug, Clone)]
pub(crate) struct Found {
    /// The `resource` parameter, exactly as the server's metadata has it.
    pub(crate) resource: String,
    /// What the server's metadata lists.
    pub(crate) scopes: Option<Scopes>,
    pub(crate) issuer: Issuer,
}

/// An authorization server, with metadata that is its own.
#[derive(Debug, Clone)]
pub(crate) struct Issuer {
    /// The identifier, as text: it is compared, never normalised.
    pub(crate) name: String,
    pub(crate) authorize: Option<Address>,
    pub(crate) token: Address,
    pub(crate) register: Option<Address>,
    pub(crate) scopes: Option<Scopes>,
    pub(crate) has_pkce: bool,
    /// The ways to authenticate at the token endpoint; `None`: it does not say.
    pub(crate) methods: Option<Vec<String>>,
    pub(crate) sends_iss: bool,
    pub(crate) reads_client_metadata: bool,
}

/// Finds out where to authorize (protocol.md §18.3 no. 1 to 3). Cancel-safe.
pub(crate) async fn discover(
    wire: &Wire,
    config: &Checked,
    challenge: &BearerChallenge,
) -> Result<Found, OauthError> {
    let metadata = resource_metadata(wire, config, challenge).await?;
    let pinned = config.config.issuer.as_deref();
    let (resource, listed, scopes) = match metadata {
        Some(found) => (found.resource, found.authorization_servers, found.scopes_supported),
        None => (config.resource.clone(), Vec::new(), None),
    };
    let issuer = match (pinned, listed.first()) {
        (Some(pinned), Some(_)) if !listed.iter().any(|one| one == pinned) => {
            return Err(OauthError::IssuerNotNamed);
        }
        (Some(pinned), _) => issuer_metadata(wire, &config.trust, pinned).await?,
        (None, Some(first)) => issuer_metadata(wire, &config.trust, first).await?,
        (None, None) if config.config.legacy_discovery => legacy(wire, config).await?,
        (None, None) => {
            return Err(OauthError::Undiscovered(
                "the server has no protected resource metadata: configure issuer",
            ));
        }
    };
    Ok(Found { resource, scopes: scopes.map(|list| list.iter().map(String::as_str).collect()), issuer })
}

/// The metadata of the server: where its challenge says, else at the well-known places, that of the path first.
async fn resource_metadata(
    wire: &Wire,
    config: &Checked,
    challenge: &BearerChallenge,
) -> Result<Option<ResourceMetadata>, OauthError> {
    let said = challenge.resource_metadata.as_deref().map(Address::parse).transpose()?;
    if said.as_ref().is_some_and(|address| !config.trust.admits(address)) {
        return Err(OauthError::Undiscovered("the server names a place for its metadata that is not https"));
    }
    let server = &config.server;
    for address in said.into_iter().chain(well_known(server, "oauth-protected-resource")?) {
        let place = place(&config.trust, &address, "protected resource metadata");
        let Some(metadata) = document::<ResourceMetadata>(wire, place).await? else { continue };
        let own = Address::parse(&metadata.resource).is_ok_and(|resource| resource.covers(server));
        return if own { Ok(Some(metadata)) } else { Err(OauthError::OtherResource) };
    }
    Ok(None)
}

/// The metadata of an authorization server, whose `issuer` is this one letter for letter.
async fn issuer_metadata(wire: &Wire, trust: &Trust, issuer: &str) -> Result<Issuer, OauthError> {
    let address = Address::parse(issuer)?;
    if !trust.admits(&address) || address.has_query() {
        return Err(OauthError::Undiscovered("the authorization server is not https"));
    }
    let mut mismatched = false;
    for candidate in issuer_places(&address)? {
        let place = place(trust, &candidate, "metadata of the authorization server");
        match document::<IssuerMetadata>(wire, place).await? {
            Some(metadata) if metadata.issuer == issuer => return Issuer::read(metadata, &address, trust),
            Some(_) => mismatched = true,
            None => {}
        }
    }
    let nothing = OauthError::Undiscovered("the authorization server has no metadata");
    Err(if mismatched { OauthError::OtherIssuer } else { nothing })
}

/// The server as its own authorization server (revision 2025-03-26): its origin is the issuer, and without metadata
/// the endpoints have fixed places and PKCE is understood.
async fn legacy(wire: &Wire, config: &Checked) -> Result<Issuer, OauthError> {
    let origin = config.server.origin();
    match issuer_metadata(wire, &config.trust, &origin).await {
        Err(OauthError::Undiscovered(_)) => {}
        other => return other,
    }
    let at = |path: &str| Address::parse(&format!("{origin}{path}"));
    Ok(Issuer {
        authorize: Some(at("/authorize")?),
        token: at("/token")?,
        register: Some(at("/register")?),
        scopes: None,
        has_pkce: true,
        methods: None,
        sends_iss: false,
        reads_client_metadata: false,
        name: origin,
    })
}

impl Issuer {
    /// What is known of one without metadata: its token endpoint.
    pub(crate) fn of_token_url(token: &Address, issuer: Option<&str>) -> Self {
        Self {
            name: issuer.unwrap_or(token.as_str()).to_owned(),
            authorize: None,
            token: token.clone(),
            register: None,
            scopes: None,
            has_pkce: false,
            methods: None,
            sends_iss: false,
            reads_client_metadata: false,
        }
    }

    fn read(metadata: IssuerMetadata, issuer: &Address, trust: &Trust) -> Result<Self, OauthError> {
        let endpoint = |text: Option<&str>| {
            let address = text.map(Address::parse).transpose()?;
            let good = address.as_ref().is_none_or(|address| {
                address.is_https() || (address.origin() == issuer.origin() && trust.admits(address))
            });
            if good { Ok(address) } else { Err(OauthError::Undiscovered("an endpoint is not https")) }
        };
        let methods = metadata.code_challenge_methods_supported.unwrap_or_default();
        Ok(Self {
            authorize: endpoint(metadata.authorization_endpoint.as_deref())?,
            token: endpoint(metadata.token_endpoint.as_deref())?
                .ok_or(OauthError::Undiscovered("the authorization server has no token endpoint"))?,
            register: endpoint(metadata.registration_endpoint.as_deref())?,
            scopes: metadata.scopes_supported.map(|list| list.iter().map(String::as_str).collect()),
            has_pkce: methods.iter().any(|method| method == "S256"),
            methods: metadata.token_endpoint_auth_methods_supported,
            sends_iss: metadata.authorization_response_iss_parameter_supported,
            reads_client_metadata: metadata.client_id_metadata_document_supported,
            name: metadata.issuer,
        })
    }
}

fn place<'a>(trust: &Trust, address: &'a Address, part: &'static str) -> Place<'a> {
    Place { address, named: trust.named(address), part }
}

/// A document, if there is one; a page of something else is none.
async fn document<T: serde::de::DeserializeOwned>(
    wire: &Wire,
    place: Place<'_>,
) -> Result<Option<T>, OauthError> {
    match wire.document(place).await {
        Err(OauthError::Malformed(_)) => Ok(None),
        other => other,
    }
}

/// `/.well-known/NAME/PATH`, then `/.well-known/NAME` (RFC 9728 §3.1).
fn well_known(address: &Address, name: &str) -> Result<Vec<Address>, OauthError> {
    let root = format!("{}/.well-known/{name}", address.origin());
    let mut places = Vec::new();
    if let path @ [_, ..] = address.path().trim_end_matches('/').as_bytes() {
        places.push(format!("{root}{}", String::from_utf8_lossy(path)));
    }
    places.push(root);
    places.iter().map(|place| Address::parse(place)).collect()
}

/// The places of protocol.md §18.3 no. 3: three for an issuer with a path, else two.
fn issuer_places(issuer: &Address) -> Result<Vec<Address>, OauthError> {
    let (origin, path) = (issuer.origin(), issuer.path().trim_end_matches('/'));
    let mut places = vec![
        format!("{origin}/.well-known/oauth-authorization-server{path}"),
        format!("{origin}/.well-known/openid-configuration{path}"),
    ];
    if !path.is_empty() {
        places.push(format!("{origin}{path}/.well-known/openid-configuration"));
    }
    places.iter().map(|place| Address::parse(place)).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_endpoint_without_tls_is_on_the_issuers_origin_and_named_by_the_operator() {
        let (own, other) = ("http://10.0.0.1:1", "http://10.0.0.1:2");
        let rows = [
            (own, &[own][..], "http://10.0.0.1:1/token", true),
            (own, &[own, other], "http://10.0.0.1:2/token", false),
            (own, &[], "http://10.0.0.1:1/token", false),
            (own, &[], "https://a.example/token", true),
            ("https://a.example", &[own], "http://10.0.0.1:1/token", false),
        ];
        for (issuer, named, token, good) in rows {
            let trust = Trust::new(named.iter().map(|origin| (*origin).to_owned()).collect(), false);
            let document = format!(r#"{{"issuer":"{issuer}","token_endpoint":"{token}"}}"#);
            let metadata = serde_json::from_str(&document).unwrap();
            let read = Issuer::read(metadata, &Address::parse(issuer).unwrap(), &trust);
            assert_eq!(read.is_ok(), good, "{issuer} {named:?} {token}");
        }
    }
}
