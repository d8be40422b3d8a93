use std::process::ExitCode;

use gateway_domain::{
    Call, Caller, CallerError, ClientCapabilities, Directory as _, Dispatcher as _, Era, Error, Exchange,
    Outcome, Params, RawJson, RawObject, SessionKey, Subject, Target, View, printable,
};

use crate::{
    cli,
    command::{FAILED, USAGE, actor, patience, print, say, with_gateway, workflows},
    config::Config,
    gateway::Gateway,
};

/// Calls one tool and prints its raw result.
pub(super) async fn run(
    config: &Config,
    asked: &cli::Call,
    stop: impl Future<Output = ()>,
) -> anyhow::Result<ExitCode> {
    let name = asked.name.as_str();
    let arguments = match RawObject::parse(asked.arguments.clone()) {
        Ok(arguments) => arguments,
        Err(error) => {
            say(format_args!("error: the arguments are not a JSON object: {error}"));
            return Ok(ExitCode::from(USAGE));
        }
    };
    let (users, caller) = actor(config, asked.client.as_deref())?;
    let gateway = Gateway::start_for(config, users, exchange(&caller))?;
    let called = with_gateway(gateway, stop, async |gateway| {
        wait_for(gateway, config, &caller, name).await;
        let outcome = gateway.dispatcher.dispatch(call(&caller, name, &arguments)).await;
        (outcome, workflows::Report::of(gateway, &caller).sentence(name))
    });
    match called.await {
        None => Ok(ExitCode::from(FAILED)),
        // To a client it is unknown; whoever calls from here can mend it.
        Some((Err(Error::Caller(CallerError::UnknownTool { .. })), Some(reason))) => {
            say(format_args!("error: {reason}"));
            Ok(ExitCode::from(FAILED))
        }
        Some((outcome, _)) => report(name, outcome).map(ExitCode::from),
    }
}

fn report(name: &str, outcome: Result<Outcome, Error>) -> anyhow::Result<u8> {
    Ok(match outcome {
        Ok(Outcome::Complete(result)) => {
            print(result.raw())?;
            let failed = result.get("isError").and_then(|flag| flag.to_bool()) == Some(true);
            if failed {
                say(format_args!("error: tool `{name}` reports an error; see its result"));
            }
            u8::from(failed)
        }
        Ok(Outcome::Failed(error)) => {
            say(format_args!(
                "error: tool `{name}` answered with error {}: {}",
                error.code,
                printable(&error.message(), 500)
            ));
            FAILED
        }
        Ok(Outcome::InputRequired { .. } | Outcome::Task(_))
        | Err(Error::Caller(CallerError::MissingCapability { .. })) => {
            say(format_args!("error: tool `{name}` asks for input, which `gatewayd call` cannot give"));
            FAILED
        }
        Err(error @ Error::Caller(CallerError::UnknownTool { .. })) => {
            say(format_args!("error: {error}; `gatewayd tools` lists what there is"));
            FAILED
        }
        Err(error) => {
            say(format_args!("error: {}", printable(&error.to_string(), 1000)));
            FAILED
        }
    })
}

/// Waits until the tool is there, or until nothing more can come.
async fn wait_for(gateway: &Gateway, config: &Config, caller: &Caller, name: &str) {
    let settled = gateway.catalog.settled(patience(config));
    let appeared = async {
        let mut seen = 0;
        let session = exchange(caller).session;
        while gateway.offered.tool(&View::All, caller, &session, name).is_none() {
            seen = gateway.offered.changed(&View::All, seen).await;
        }
    };
    tokio::select! {
        () = settled => {}
        () = appeared => {}
    }
}

fn call(caller: &Caller, name: &str, arguments: &RawObject) -> Call {
    let params = format!(r#"{{"name":{},"arguments":{}}}"#, RawJson::string(name), arguments.as_str());
    let object = RawObject::parse(params).unwrap_or_else(|_| RawObject::empty());
    Call {
        target: Target::Exposed { view: View::All, subject: Subject::tool(name) },
        params: Params { object, meta: None },
        follow_up: None,
        origin: None,
        caller: caller.clone(),
        exchange: exchange(caller),
    }
}

/// A modern client that can do nothing beyond the core.
pub(super) fn exchange(caller: &Caller) -> Exchange {
    let capabilities = ClientCapabilities::none();
    let caller = caller.clone();
    let session = SessionKey::Modern { caller, capabilities: capabilities.clone() };
    Exchange::quiet(Era::Modern, session, capabilities)
}
