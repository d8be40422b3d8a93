"""The interop tier: real servers, real clients and the conformance suite through `gatewayd`. See ../README.md."""
