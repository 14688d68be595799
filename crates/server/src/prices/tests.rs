use super::*;

/// US dollars of a million tokens of input, output, cache reads, cache writes for five minutes and for an hour, each in a request of its own.
fn millions(model: &str, at: &str) -> Option<[f64; 5]> {
    // Small enough for the lowest tier.
    const TOKENS: u64 = 1000;
    let one = |usage: Usage, cache_write_hour| {
        let used = RequestUsage { usage, cache_write_hour, searches: 0 };
        Some(PriceTable::built_in().cost(model, at.parse().unwrap(), &used)? * MILLION / TOKENS as f64)
    };
    let usage = Usage::default();
    let prices = [
        one(Usage { input: TOKENS, ..usage }, 0)?,
        one(Usage { output: TOKENS, ..usage }, 0)?,
        one(Usage { cache_read: TOKENS, ..usage }, 0)?,
        one(Usage { cache_write: TOKENS, ..usage }, 0)?,
        one(Usage { cache_write: TOKENS, ..usage }, TOKENS)?,
    ];
    Some(prices.map(rounded))
}

/// Without what binary fractions add.
fn rounded(dollars: f64) -> f64 {
    (dollars * 1e9).round() / 1e9
}

const NOW: &str = "2026-11-29T12:00:00Z";

fn input(input: u64) -> RequestUsage {
    RequestUsage { usage: Usage { input, ..Usage::default() }, ..RequestUsage::default() }
}

fn cost(model: &str, at: &str, used: &RequestUsage) -> Option<f64> {
    PriceTable::built_in().cost(model, at.parse().unwrap(), used).map(rounded)
}

#[test]
fn published_prices_of_claude() {
    for (model, prices) in [
        ("claude-sonnet-4-5-20250929", [3.0, 15.0, 0.3, 3.75, 6.0]),
        ("claude-opus-4-1-20250805", [15.0, 75.0, 1.5, 18.75, 30.0]),
        ("claude-haiku-4-5-20251001", [1.0, 5.0, 0.1, 1.25, 2.0]),
        ("us.anthropic.claude-haiku-4-5-20251001-v1:0", [1.0, 5.0, 0.1, 1.25, 2.0]),
    ] {
        assert_eq!(millions(model, NOW), Some(prices), "{model}");
    }
}

#[test]
fn a_request_with_much_input_has_the_prices_of_its_tier() {
    let cached = |input, cache_read| RequestUsage {
        usage: Usage { input, cache_read, ..Usage::default() },
        ..RequestUsage::default()
    };
    for (model, used, dollars) in [
        ("claude-sonnet-4-5", input(200_000), 0.6),
        ("claude-sonnet-4-5", input(200_001), 1.200_006),
        ("claude-sonnet-4-5", cached(1000, 199_000), 0.0627),
        ("claude-sonnet-4-5", cached(1000, 199_001), 0.125_400_6),
        ("gemini-2.5-pro", input(200_000), 0.25),
        ("gemini-2.5-pro", input(200_001), 0.500_002_5),
        ("qwen3-coder-plus", input(32_001), 0.057_601_8),
        ("qwen3-coder-plus", input(300_000), 1.8),
    ] {
        assert_eq!(cost(model, NOW, &used), Some(dollars), "{model} {used:?}");
    }
}

#[test]
fn a_price_holds_from_its_day() {
    let used = input(1_000_000);
    assert_eq!(cost("o3", "2025-06-09T23:59:59Z", &used), Some(10.0));
    assert_eq!(cost("o3-2025-04-16", "2025-06-10T00:00:00Z", &used), Some(2.0));
    // Three prices of one model.
    for (at, dollars) in
        [("2026-08-16", 0.14), ("2026-08-17", 0.44), ("2026-09-09", 0.44), ("2026-09-10", 0.3)]
    {
        assert_eq!(cost("deepseek-v4-flash", &format!("{at}T12:00:00Z"), &used), Some(dollars), "{at}");
    }
    let table = PriceTable::read("[[price]]\nmodel = \"a\"\nfrom = 2026-01-02\ninput = 1\noutput = 1\n", "p")
        .unwrap();
    assert_eq!(table.cost("a", "2026-01-01T23:00:00Z".parse().unwrap(), &used), None);
}

#[test]
fn what_has_no_price_has_no_cost() {
    let used = input(1000);
    for model in
        ["acme-unpriced-9", "gpt-5-zero", "claude", "claude-opus", "ollama/qwen3-max", "<synthetic>", ""]
    {
        assert_eq!(cost(model, NOW, &used), None, "{model}");
    }
    assert!(cost("gpt-5-nano", NOW, &used) < cost("gpt-5", NOW, &used));
    let written = RequestUsage { usage: Usage { cache_write: 1, ..used.usage }, ..used };
    assert_eq!(cost("gpt-5", NOW, &written), None, "no price for writing to the cache");
    assert_eq!(
        cost("deepseek-v4-pro", NOW, &written),
        cost("deepseek-v4-pro", NOW, &used),
        "writing costs nothing"
    );
    assert_eq!(cost("gpt-5", NOW, &RequestUsage::default()), Some(0.0));
}

#[test]
fn searches_and_hours_are_counted() {
    let usage = Usage { input: 100, cache_write: 2000, ..Usage::default() };
    let used = RequestUsage { usage, cache_write_hour: 500, searches: 3 };
    assert_eq!(cost("claude-sonnet-4-5", NOW, &used), Some(0.0003 + 0.005_625 + 0.003 + 0.03));
    let too_many = RequestUsage { usage, cache_write_hour: 5000, searches: 0 };
    assert_eq!(cost("claude-sonnet-4-5", NOW, &too_many), Some(0.0003 + 0.012));
    let huge = Usage { input: u64::MAX, output: u64::MAX, cache_read: u64::MAX, cache_write: u64::MAX };
    assert!(cost("claude-sonnet-4-5", NOW, &RequestUsage { usage: huge, ..used }).is_some());
}

#[test]
fn rows_of_the_same_name_take_precedence() {
    let own = "[[price]]\nmodel = \"GPT-5\"\ninput = 7\noutput = 0\n\n[[price]]\nmodel = \"ollama/qwen3\"\ninput = 0\noutput = 0\n";
    let table = PriceTable::read(own, "own.toml").unwrap().over(PriceTable::built_in());
    let cost = |model| table.cost(model, NOW.parse().unwrap(), &input(1_000_000));
    assert_eq!(cost("gpt-5"), Some(7.0));
    assert_eq!(cost("ollama/qwen3"), Some(0.0));
    assert_eq!(cost("claude-haiku-4-5"), Some(1.0));
}

#[test]
fn each_built_in_row_has_a_source_and_a_day() {
    let text = include_str!("prices.toml");
    assert_eq!(PriceTable::read(text, "prices.toml").map(drop), Ok(()));
    let table: toml::Table = toml::from_str(text).unwrap();
    let rows = table["price"].as_array().unwrap();
    assert!(rows.len() > 200, "{}", rows.len());
    for row in rows {
        assert!(row["source"].as_str().is_some_and(|source| source.starts_with("https://")), "{row}");
        assert!(row["checked"].as_datetime().is_some_and(|at| at.time.is_none()), "{row}");
        let model = row["model"].as_str().unwrap();
        assert!(cost(model, NOW, &input(1)).is_some(), "{model} is found under its own name");
    }
}

#[test]
fn problems_of_a_table_have_their_place() {
    let bad = r#"
prise = 1

[[price]]
model = "a"
inptu = 3
output = -1
from = "2025-06-10"
tiers = [{ above = "many", input = 1 }, 7]

[[price]]
input = 1
output = inf

[[price]]
model = "b"
input = 1
output = 1

[[price]]
model = "B"
input = 1
output = 1
"#;
    let problems = PriceTable::read(bad, "own.toml").unwrap_err().to_string();
    assert_eq!(
        problems,
        r#"own.toml:2:1: unknown key "prise" (did you mean "price"?)
own.toml:4:1: the price has no "input" (0 if it costs nothing)
own.toml:6:1: unknown key "inptu" (did you mean "input"?)
own.toml:7:10: output must be a number of US dollars, such as 3 or 0.25
own.toml:8:8: from must be a day without quotes: 2025-06-10
own.toml:9:10: a tier needs a number of tokens (above = 200000)
own.toml:9:41: a tier is a table: { above = 200000, input = 6 }
own.toml:11:1: the price has no model (model = "…")
own.toml:21:9: this model has two prices from the same day (a later one needs from = 2026-01-31)"#
    );
    let syntax = PriceTable::read("[[price]]\nmodel = \n", "own.toml").unwrap_err().to_string();
    assert!(syntax.starts_with("own.toml:2:9: "), "{syntax}");
    assert!(PriceTable::read("price = 3", "own.toml").is_err());
}
