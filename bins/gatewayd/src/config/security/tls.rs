//! `[tls]`: TLS towards clients.

use std::path::{Path, PathBuf};
use std::time::Duration;

use super::model::{ClientCertificates, Tls};
use crate::config::gateway::HOUR;
use crate::config::problem::Fault;
use crate::config::reader::{Item, Table};
use crate::config::{reach, scalar};

pub(super) fn read(top: &mut Table<'_>) -> Option<Tls> {
    if !top.has("tls") {
        top.table("tls").finish();
        return None;
    }
    let mut table = top.table("tls");
    let [certificate, key] = ["certificate", "key"].map(|name| {
        if !table.has(name) {
            table.report(
                Fault::new(format!("lacks {name}")).hint("name the PEM files of certificate and key"),
            );
        }
        table.read(name, file)
    });
    let kinds = [
        ("off", ClientCertificates::Off),
        ("request", ClientCertificates::Request),
        ("require", ClientCertificates::Require),
    ];
    let client_ca = table.read("client_ca", file);
    let wanted = table.read("client_certificates", scalar::one_of(&kinds));
    if wanted.is_some_and(|wanted| wanted != ClientCertificates::Off) && client_ca.is_none() {
        let fault = Fault::new("client certificates are checked with the certificates of who signs them");
        table.report(fault.hint("write client_ca = \"ca.pem\""));
    }
    let with_ca = if client_ca.is_some() { ClientCertificates::Require } else { ClientCertificates::Off };
    let reload = table.read("reload", scalar::duration(HOUR)).unwrap_or(Duration::from_secs(10));
    table.finish();
    let client_certificates = wanted.unwrap_or(with_ca);
    Some(Tls { certificate: certificate?, key: key?, client_ca, client_certificates, reload })
}

fn file(item: &Item<'_>) -> Result<PathBuf, Fault> {
    reach::existing(item, Path::is_file, "a file")
}
