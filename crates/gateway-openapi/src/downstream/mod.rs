//! The API as one downstream of a gateway: [`gateway_domain::Factory`] and [`gateway_domain::DownstreamSession`].
