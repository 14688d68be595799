//! The command line of `serve`.

use std::net::IpAddr;
use std::path::PathBuf;

/// `streamfmt serve`
#[derive(Debug, clap::Args)]
#[command(after_help = EXAMPLES)]
#[expect(clippy::struct_excessive_bools, reason = "each is a switch of its own")]
pub(crate) struct ServeArgs {
    /// Listen on this port; by default on the one that was used last, if it is free
    #[arg(long, value_name = "PORT", value_parser = clap::value_parser!(u16).range(1..))]
    pub(crate) port: Option<u16>,

    /// Listen at this address instead of those of this machine alone; repeatable
    #[arg(long, value_name = "IP")]
    pub(crate) bind: Vec<IpAddr>,

    /// Make a new secret: keys of `log.sse` and open tabs stop working
    #[arg(long)]
    pub(crate) new_token: bool,

    /// Keep logins for 30 days after a restart, on a machine that only you use
    #[arg(long)]
    pub(crate) keep_logins: bool,

    /// Open a browser that is logged in
    #[arg(long)]
    pub(crate) open: bool,

    /// Print another address of the running server, valid for ten minutes and for one browser
    #[arg(long, conflicts_with_all = ["browsers", "revoke"])]
    pub(crate) link: bool,

    /// List the browsers that are logged in to the running server
    #[arg(long, conflicts_with = "revoke")]
    pub(crate) browsers: bool,

    /// Log out the browser of this number
    #[arg(long, value_name = "N")]
    pub(crate) revoke: Option<u64>,

    /// Append a line for each request to this file: time, peer, method, address, status, bytes, milliseconds
    #[arg(long, value_name = "FILE")]
    pub(crate) log: Option<PathBuf>,

    /// Answer requests for this host name, as a proxy sends them; secrets are masked there; repeatable
    #[arg(long, value_name = "HOST", value_parser = host)]
    pub(crate) allow_host: Vec<String>,

    /// Serve everything below this path, such as `/agents`, for a proxy
    #[arg(long, value_name = "PATH", value_parser = base_path)]
    pub(crate) base_path: Option<String>,

    /// Mask nothing beyond this machine, and allow the raw log there
    #[arg(long)]
    pub(crate) show_secrets: bool,

    /// Let pages of this origin, such as `https://dash.example`, read `log.sse` with its key; repeatable
    #[arg(long, value_name = "URL", value_parser = origin)]
    pub(crate) allow_origin: Vec<String>,
}

const EXAMPLES: &str = "\
Examples:
  streamfmt serve
  streamfmt serve --open --port 7317
  streamfmt serve --link
  streamfmt serve --allow-host agents.example.org --base-path /agents

Exit codes: 0 ended by Ctrl-C or SIGTERM; 2 usage, another server is running, or the port is taken.";

/// Parses a base path: empty, or one that begins with a slash and ends without one.
pub(crate) fn base_path(text: &str) -> Result<String, &'static str> {
    let text = text.trim_end_matches('/');
    let is_sound = |part: &str| {
        !part.is_empty()
            && part.bytes().all(|byte| byte.is_ascii_alphanumeric() || b"-_.~".contains(&byte))
            && part != "."
            && part != ".."
    };
    let parts = text.strip_prefix('/').map(|rest| rest.split('/').all(is_sound));
    match (text, parts) {
        ("", _) => Ok(String::new()),
        (_, Some(true)) => Ok(text.to_owned()),
        _ => Err("expected a path such as /agents"),
    }
}

/// Parses a host name or address, perhaps with a port.
pub(crate) fn host(text: &str) -> Result<String, &'static str> {
    if is_host(text) { Ok(text.to_owned()) } else { Err("expected a host name such as agents.example.org") }
}

fn is_host(text: &str) -> bool {
    !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_alphanumeric() || b"-.:[]".contains(&byte))
}

/// Parses an origin: a scheme and a host, without a path.
pub(crate) fn origin(text: &str) -> Result<String, &'static str> {
    let host = text.strip_prefix("https://").or_else(|| text.strip_prefix("http://"));
    if host.is_some_and(is_host) {
        Ok(text.to_ascii_lowercase())
    } else {
        Err("expected an origin such as https://dash.example")
    }
}
