//! The scenarios of downstream life against a `gatewayd` program: `gateway_testkit::scenario` describes them.

fn main() {
    std::process::exit(gateway_testkit::scenario::run(std::env::args().skip(1)));
}
