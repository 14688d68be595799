//! Prices of models, for estimates of what no agent states.
//!
//! The built-in table is `prices/prices.toml`, in the form of a user's own `--prices FILE`. It has the prices that vendors publish for their own
//! interfaces; a model without such a price stays without one.

mod names;
mod read;

use std::collections::BTreeMap;
use std::sync::LazyLock;

use jiff::Timestamp;
use jiff::civil::Date;
use jiff::tz::Offset;
use streamfmt::Problems;
use streamfmt::core::event::Usage;

/// Prices are of a million tokens.
const MILLION: f64 = 1e6;

static BUILT_IN: LazyLock<PriceTable> = LazyLock::new(|| {
    // A test reads it: every row is valid.
    PriceTable::read(include_str!("prices/prices.toml"), "prices.toml").unwrap_or_default()
});

/// What one request to a model used.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct RequestUsage {
    /// Its tokens.
    pub usage: Usage,
    /// Of `usage.cache_write`, those kept for an hour. The others are kept for five minutes.
    pub cache_write_hour: u64,
    /// Searches of the web that were charged apart.
    pub searches: u64,
}

/// The prices of models, by model and day.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct PriceTable {
    /// The rows of each model in lower case, by their first day.
    models: BTreeMap<String, Vec<PriceRow>>,
}

/// What a model costs from a day on.
#[derive(Clone, Debug, PartialEq)]
struct PriceRow {
    /// `None`: since the model exists.
    from: Option<Date>,
    prices: TokenPrices,
    /// US dollars for a search.
    search: Option<f64>,
    /// Other prices for a request with more tokens of input than this, in ascending order.
    tiers: Vec<(u64, TokenPrices)>,
}

/// US dollars for a million tokens. `None` if the vendor publishes no price.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
struct TokenPrices {
    input: Option<f64>,
    output: Option<f64>,
    cache_read: Option<f64>,
    cache_write: Option<f64>,
    cache_write_hour: Option<f64>,
}

impl PriceTable {
    /// The prices that are built into the program.
    pub fn built_in() -> &'static Self {
        &BUILT_IN
    }

    /// Reads a table in TOML. `name` is that of the file, for messages; the error contains all problems.
    pub fn read(text: &str, name: &str) -> Result<Self, Problems> {
        read::read(text, name)
    }

    /// Adds the rows of all models of `other` that this table doesn't have.
    #[must_use]
    pub fn over(mut self, other: &Self) -> Self {
        for (model, rows) in &other.models {
            self.models.entry(model.clone()).or_insert_with(|| rows.clone());
        }
        self
    }

    /// The cost in US dollars. `None` if the model, or anything that was used of it, has no price at that time.
    ///
    /// The name may have a provider (`us.anthropic.…-v1:0`), a date or `-latest`. Otherwise only the model itself has its price: `gpt-5-nano` never
    /// has that of `gpt-5`.
    pub fn cost(&self, model: &str, at: Timestamp, used: &RequestUsage) -> Option<f64> {
        let rows = names::candidates(model).into_iter().find_map(|name| self.models.get(&name))?;
        let day = Offset::UTC.to_datetime(at).date();
        rows.iter().rfind(|row| row.from.is_none_or(|from| from <= day))?.cost(used)
    }
}

impl PriceRow {
    fn cost(&self, used: &RequestUsage) -> Option<f64> {
        let Usage { input, output, cache_read, cache_write } = used.usage;
        let whole_input = input.saturating_add(cache_read).saturating_add(cache_write);
        let tier = self.tiers.iter().rfind(|(above, _)| *above < whole_input);
        let prices = tier.map_or(&self.prices, |(_, prices)| prices);
        let hour = used.cache_write_hour.min(cache_write);
        let parts = [
            (input, prices.input, MILLION),
            (output, prices.output, MILLION),
            (cache_read, prices.cache_read, MILLION),
            (cache_write - hour, prices.cache_write, MILLION),
            (hour, prices.cache_write_hour, MILLION),
            (used.searches, self.search, 1.0),
        ];
        let needed = parts.into_iter().filter(|(count, ..)| *count > 0);
        needed.map(|(count, price, unit)| Some(count as f64 * price? / unit)).sum()
    }
}

#[cfg(test)]
mod tests;
