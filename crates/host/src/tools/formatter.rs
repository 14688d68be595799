//! The formatter for a profile's rules about tools, used without plugins.

use std::convert::Infallible;

use streamfmt_core::formatter::{FormatError, Formatter, Verdict};
use streamfmt_core::item::{Item, Kind};
use streamfmt_core::profile::Profile;
use streamfmt_core::session::Session;
use streamfmt_formatters::standard::Standard;

use super::field::ToolField;
use super::overrides::{FieldOverrides, LayerId, Overrides, overrides_of};
use super::pattern::Rule;
use super::request::FormatRequest;
use super::rule::ToolRule;

/// Applies rules on top of the built-in formatting.
pub(crate) struct RuleFormatter {
    rules: Vec<Rule<Infallible>>,
    standard: Standard,
    known: Overrides<Infallible>,
}

impl RuleFormatter {
    /// The formatter for these rules, of which later ones take precedence. Returns `None` if there are none. An invalid rule or
    /// value is ignored.
    pub(crate) fn new(rules: &[ToolRule], profile: &Profile) -> Option<Self> {
        let rules: Vec<_> = rules.iter().filter_map(Rule::read).collect();
        let standard = Standard::of(profile);
        (!rules.is_empty()).then(|| Self { rules, standard, known: Overrides::default() })
    }
}

impl Formatter for RuleFormatter {
    fn name(&self) -> &'static str {
        "rules"
    }

    fn format(&self, item: &Item, session: &Session) -> Result<Verdict, FormatError> {
        if !matches!(item.kind, Kind::Call | Kind::Result) {
            return Ok(Verdict::Pass);
        }
        let request = FormatRequest::of(item, session);
        let (tool, action) = (request.tool().unwrap_or_default(), request.action());
        let find = || overrides_of([(LayerId::Profile, &self.rules[..])], tool, action);
        let known = self.known.get(tool, action, find);
        let overrides = FieldOverrides {
            standard: &self.standard,
            request,
            all: &known,
            is_off: &|_| false,
            call: &|_, function, _| match *function {},
        };
        let has_field = |field: &ToolField| overrides.has(*field);
        // A different argument of a call changes what remains to be shown of its result.
        let is_call_changed = item.kind == Kind::Result && has_field(&ToolField::Arg);
        if !is_call_changed && !ToolField::of_kind(item.kind).iter().any(has_field) {
            return Ok(Verdict::Pass);
        }
        Ok(overrides.apply())
    }
}
