//! Reads a table of prices. All problems of a file are reported at once, each with its place.

use std::ops::Range;

use jiff::civil::Date;
use streamfmt::core::syntax_errors::SyntaxErrors;
use streamfmt::problem::suggestion;
use streamfmt::{Problem, ProblemKind, Problems};
use toml::Spanned;
use toml::de::{DeTable, DeValue};

use super::{PriceRow, PriceTable, TokenPrices};

/// Most problems reported for a file: nobody reads more at once.
const MOST_REPORTED: usize = 20;

/// The keys of a row. `source` and `checked` are notes for people.
const ROW_KEYS: &[&str] = &[
    "model",
    "from",
    "input",
    "output",
    "cache_read",
    "cache_write",
    "cache_write_hour",
    "search",
    "tiers",
    "source",
    "checked",
];
const TIER_KEYS: &[&str] = &["above", "input", "output", "cache_read", "cache_write", "cache_write_hour"];

pub(super) fn read(text: &str, name: &str) -> Result<PriceTable, Problems> {
    let mut reader = TableReader { text, name, problems: Problems::default() };
    let (root, syntax) = SyntaxErrors::parse(text);
    for (span, message) in syntax.errors {
        reader.report(ProblemKind::Syntax, span, message);
    }
    // After an error of syntax, others are often only its consequence.
    let table = if reader.problems.0.is_empty() { reader.table(&root) } else { PriceTable::default() };
    reader.problems.sort();
    reader.problems.0.truncate(MOST_REPORTED);
    reader.problems.or(table)
}

struct TableReader<'a> {
    text: &'a str,
    name: &'a str,
    problems: Problems,
}

impl TableReader<'_> {
    fn table(&mut self, root: &DeTable<'_>) -> PriceTable {
        let mut table = PriceTable::default();
        self.check_keys(root, &["price"]);
        for row in root.get("price").map_or(&[][..], |rows| self.tables(rows, "[[price]]")) {
            let DeValue::Table(fields) = row.get_ref() else {
                self.complain(row.span(), "a price is a table: [[price]]");
                continue;
            };
            let Some((model, place)) = self.model(fields, row.span()) else { continue };
            let row = self.row(fields, row.span());
            let rows = table.models.entry(model).or_default();
            match rows.binary_search_by_key(&row.from, |row| row.from) {
                Ok(_) => self.complain(
                    place,
                    "this model has two prices from the same day (a later one needs from = 2026-01-31)",
                ),
                Err(index) => rows.insert(index, row),
            }
        }
        table
    }

    fn row(&mut self, fields: &DeTable<'_>, span: Range<usize>) -> PriceRow {
        self.check_keys(fields, ROW_KEYS);
        let prices = self.prices(fields, TokenPrices::default());
        for key in ["input", "output"] {
            if !fields.contains_key(key) {
                self.complain(span.clone(), format!("the price has no \"{key}\" (0 if it costs nothing)"));
            }
        }
        let from = fields.get("from").and_then(|value| self.day(value));
        PriceRow { from, prices, search: self.price(fields, "search"), tiers: self.tiers(fields, prices) }
    }

    fn tiers(&mut self, fields: &DeTable<'_>, prices: TokenPrices) -> Vec<(u64, TokenPrices)> {
        let mut tiers = Vec::new();
        for tier in
            fields.get("tiers").map_or(&[][..], |list| self.tables(list, "tiers = [{ above = 200000, … }]"))
        {
            let DeValue::Table(fields) = tier.get_ref() else {
                self.complain(tier.span(), "a tier is a table: { above = 200000, input = 6 }");
                continue;
            };
            self.check_keys(fields, TIER_KEYS);
            let above = fields.get("above").and_then(|above| above.get_ref().as_integer());
            let above = above.and_then(|above| u64::from_str_radix(above.as_str(), above.radix()).ok());
            match above {
                Some(above) => tiers.push((above, self.prices(fields, prices))),
                None => self.complain(tier.span(), "a tier needs a number of tokens (above = 200000)"),
            }
        }
        tiers.sort_by_key(|(above, _)| *above);
        tiers
    }

    /// The prices of a table; those that it doesn't name are those of `base`.
    fn prices(&mut self, fields: &DeTable<'_>, base: TokenPrices) -> TokenPrices {
        TokenPrices {
            input: self.price(fields, "input").or(base.input),
            output: self.price(fields, "output").or(base.output),
            cache_read: self.price(fields, "cache_read").or(base.cache_read),
            cache_write: self.price(fields, "cache_write").or(base.cache_write),
            cache_write_hour: self.price(fields, "cache_write_hour").or(base.cache_write_hour),
        }
    }

    fn price(&mut self, fields: &DeTable<'_>, key: &str) -> Option<f64> {
        let value = fields.get(key)?;
        let price = number(value.get_ref());
        if price.is_none() {
            self.complain(value.span(), format!("{key} must be a number of US dollars, such as 3 or 0.25"));
        }
        price
    }

    fn model(&mut self, fields: &DeTable<'_>, span: Range<usize>) -> Option<(String, Range<usize>)> {
        let Some(value) = fields.get("model") else {
            self.complain(span, "the price has no model (model = \"…\")");
            return None;
        };
        let model = value.get_ref().as_str().map(str::trim).filter(|model| !model.is_empty());
        if model.is_none() {
            self.complain(value.span(), "model must be the name of a model");
        }
        Some((model?.to_lowercase(), value.span()))
    }

    fn day(&mut self, value: &Spanned<DeValue<'_>>) -> Option<Date> {
        let date = value.get_ref().as_datetime().filter(|at| at.time.is_none()).and_then(|at| at.date);
        let day = date.and_then(|date| {
            Date::new(date.year.cast_signed(), date.month.cast_signed(), date.day.cast_signed()).ok()
        });
        if day.is_none() {
            self.complain(value.span(), "from must be a day without quotes: 2025-06-10");
        }
        day
    }

    fn tables<'v, 'i>(&mut self, value: &'v Spanned<DeValue<'i>>, form: &str) -> &'v [Spanned<DeValue<'i>>] {
        if let DeValue::Array(list) = value.get_ref() {
            return list;
        }
        self.complain(value.span(), format!("this must be a list of tables: {form}"));
        &[]
    }

    fn check_keys(&mut self, fields: &DeTable<'_>, known: &[&str]) {
        for (key, _) in fields.iter().filter(|(key, _)| !known.contains(&&**key.get_ref())) {
            let hint = suggestion(key.get_ref(), known.iter().copied());
            self.report(
                ProblemKind::UnknownKey,
                key.span(),
                format!("unknown key \"{}\" {hint}", key.get_ref()),
            );
        }
    }

    fn complain(&mut self, span: Range<usize>, message: impl Into<String>) {
        self.report(ProblemKind::BadValue, span, message);
    }

    fn report(&mut self, kind: ProblemKind, span: Range<usize>, message: impl Into<String>) {
        self.problems.0.push(Problem::at(kind, self.name, self.text, span, message));
    }
}

/// A number that isn't negative.
fn number(value: &DeValue<'_>) -> Option<f64> {
    let number: f64 = match value {
        DeValue::Integer(number) if number.radix() == 10 => number.as_str().parse().ok()?,
        DeValue::Float(number) => number.as_str().parse().ok()?,
        _ => return None,
    };
    (number.is_finite() && number >= 0.0).then_some(number)
}
