//! Lays out the SQL of a call, as a database tool gets it in one line, with the crate `sqlformat`.

use sqlformat::{FormatOptions, Indent, QueryParams};
use streamfmt_plugin::{Answer, Decision, HostApi, ItemRef, NativePlugin, export};

/// Where tools have their SQL.
const PLACES: [&str; 3] = ["/input/query", "/input/sql", "/input/statement"];

/// Words that SQL begins with.
const BEGINNINGS: [&str; 9] =
    ["select ", "with ", "insert ", "update ", "delete ", "create ", "alter ", "explain ", "merge "];

/// Longest SQL that is laid out, in bytes: what is longer is generated, and nobody reads it.
const LONGEST: usize = 64 << 10;

/// The plugin.
struct SqlLayout;

impl NativePlugin for SqlLayout {
    const NAME: &'static str = "sql";
    const VERSION: &'static str = env!("CARGO_PKG_VERSION");
    const FORMATS: &'static [&'static str] = &["mcp__*"];

    fn new(_: HostApi, _: &str) -> Result<Self, String> {
        Ok(Self)
    }

    fn format(&mut self, item: &ItemRef<'_>, answer: &mut Answer<'_>) -> Result<Decision, String> {
        // While it is being written, its layout would jump with each word.
        if item.is_partial() || item.kind() != "call" {
            return Ok(Decision::Pass);
        }
        let Some(sql) = PLACES.iter().find_map(|place| item.str(place)).filter(|sql| is_sql(sql)) else {
            return Ok(Decision::Pass);
        };
        let options = FormatOptions { indent: Indent::Spaces(2), ..FormatOptions::default() };
        let laid_out = sqlformat::format(sql, &QueryParams::None, &options);
        let tool = item.tool().unwrap_or_default();
        let database = tool.strip_prefix("mcp__").unwrap_or(tool).replace("__", " · ");
        answer.view("{\"mark\":\"call\"}");
        answer.span(&database, "tool.name");
        answer.code(&laid_out, "sql", "call.input");
        Ok(Decision::Show)
    }
}

/// Whether a text is probably SQL, and short enough to be laid out.
fn is_sql(text: &str) -> bool {
    let start = text.trim_start();
    let begins = |word: &&str| start.get(..word.len()).is_some_and(|begin| begin.eq_ignore_ascii_case(word));
    text.len() <= LONGEST && BEGINNINGS.iter().any(begins)
}

export!(SqlLayout);
