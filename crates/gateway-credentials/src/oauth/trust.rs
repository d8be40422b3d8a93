use gateway_egress::Named;

use super::address::Address;

/// Which addresses the operator has named: what documents name besides must be `https`.
#[derive(Debug, Clone)]
pub(crate) struct Trust {
    origins: Vec<String>,
    loopback: bool,
}

impl Trust {
    pub(crate) fn new(origins: Vec<String>, loopback: bool) -> Self {
        Self { origins, loopback }
    }

    /// By whom an address is named, whatever document it was read from.
    pub(crate) fn named(&self, address: &Address) -> Named {
        let own = self.origins.contains(&address.origin()) || (self.loopback && address.is_loopback());
        if own { Named::ByOperator } else { Named::ByDocument }
    }

    /// Whether a document may name this address.
    pub(crate) fn admits(&self, address: &Address) -> bool {
        address.is_https() || self.named(address) == Named::ByOperator
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_the_operator_did_not_name_must_be_https() {
        let rows = [
            ("http://10.0.0.1:1", false, true, Named::ByOperator),
            ("http://10.0.0.1:2", false, false, Named::ByDocument),
            ("https://10.0.0.1:2", false, true, Named::ByDocument),
            ("http://localhost:9/x", false, false, Named::ByDocument),
            ("http://localhost:9/x", true, true, Named::ByOperator),
            ("http://10.0.0.2", true, false, Named::ByDocument),
        ];
        for (text, loopback, admitted, named) in rows {
            let trust = Trust::new(vec!["http://10.0.0.1:1".to_owned()], loopback);
            let address = Address::parse(text).unwrap();
            assert_eq!(
                (trust.admits(&address), trust.named(&address)),
                (admitted, named),
                "{text} {loopback}"
            );
        }
    }
}
