//! The names under which a table may have a model.

/// Providers whose prices are those of the models' vendors. Others have their own, or run a model for nothing.
const PROVIDERS: &[&str] = &[
    "anthropic",
    "azure",
    "bedrock",
    "dashscope",
    "deepseek",
    "gemini",
    "google",
    "minimax",
    "mistral",
    "mistralai",
    "models",
    "moonshot",
    "moonshotai",
    "openai",
    "openrouter",
    "publishers",
    "qwen",
    "vertex",
    "vertex_ai",
    "x-ai",
    "xai",
    "z-ai",
    "zai",
];

/// The regions of Amazon Bedrock, as its names of models begin with them.
const REGIONS: &[&str] = &["apac.", "au.", "ca.", "eu.", "global.", "jp.", "us-gov.", "us."];

/// The names under which a table may have this model, the most exact first, all in lower case.
///
/// After the name itself come those without provider, and then without one ending after the other: the size of the context (`[1m]`), a version
/// (`-v1:0`, `@20250805`), a date, `-latest`. Nothing else is left out, since what follows a name usually is another model.
pub(super) fn candidates(model: &str) -> Vec<String> {
    let whole = model.trim().to_lowercase();
    let mut names = vec![whole.clone()];
    let Some(own) = without_provider(&whole) else { return names };
    // Some providers write the version of a Claude with a dot.
    let own = if own.starts_with("claude-") { own.replace('.', "-") } else { own.to_owned() };
    let mut rest = own.as_str();
    names.push(rest.to_owned());
    while let Some(shorter) = without_ending(rest) {
        names.push(shorter.to_owned());
        rest = shorter;
    }
    names
}

fn without_provider(model: &str) -> Option<&str> {
    let (path, name) = model.rsplit_once('/').unwrap_or(("", model));
    let known = path.is_empty()
        || path.starts_with("arn:aws:bedrock:")
        || path.split('/').all(|part| PROVIDERS.contains(&part));
    if !known {
        return None;
    }
    let place = REGIONS.iter().find_map(|region| name.strip_prefix(region)).unwrap_or(name);
    Some(place.strip_prefix("anthropic.").unwrap_or(name))
}

fn without_ending(name: &str) -> Option<&str> {
    let plain = name.strip_suffix("[1m]").or_else(|| name.strip_suffix("-latest"));
    plain.or_else(|| without_version(name)).or_else(|| without_date(name))
}

/// Leaves out `@20250805`, `@default`, and the version of Bedrock, `-v1` or `-v1:0`.
fn without_version(name: &str) -> Option<&str> {
    if let Some((before, _)) = name.rsplit_once('@') {
        return Some(before);
    }
    let (before, version) = name.rsplit_once("-v")?;
    let mut numbers = version.split(':');
    let is_version =
        numbers.all(|number| !number.is_empty() && number.bytes().all(|byte| byte.is_ascii_digit()));
    (before.starts_with("claude-") && is_version).then_some(before)
}

/// Leaves out a date, `-20250805` or `-2025-08-05`.
fn without_date(name: &str) -> Option<&str> {
    ["-dddddddd", "-dddd-dd-dd"].into_iter().find_map(|form| {
        let (before, date) = name.split_at_checked(name.len().checked_sub(form.len())?)?;
        let fits = |(byte, form): (u8, u8)| if form == b'd' { byte.is_ascii_digit() } else { byte == form };
        let is_date = date.bytes().zip(form.bytes()).all(fits) && date.starts_with("-20");
        (is_date && !before.is_empty()).then_some(before)
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn provider_version_and_date_are_left_out() {
        for (model, family) in [
            ("claude-opus-4-1-20250805", "claude-opus-4-1"),
            ("anthropic/claude-opus-4.1", "claude-opus-4-1"),
            ("us.anthropic.claude-opus-4-1-20250805-v1:0", "claude-opus-4-1"),
            ("anthropic.claude-opus-4-6-v1", "claude-opus-4-6"),
            (
                "arn:aws:bedrock:us-east-1:123456789012:inference-profile/us.anthropic.claude-sonnet-4-20250514-v1:0",
                "claude-sonnet-4",
            ),
            ("vertex_ai/claude-opus-4-1@20250805", "claude-opus-4-1"),
            ("claude-3-5-sonnet-v2@20241022", "claude-3-5-sonnet"),
            ("claude-3-5-sonnet-latest", "claude-3-5-sonnet"),
            ("Claude-Sonnet-4-5-20250929[1m]", "claude-sonnet-4-5"),
            ("openrouter/openai/gpt-5-2025-08-07", "gpt-5"),
            ("models/gemini-2.5-pro", "gemini-2.5-pro"),
        ] {
            assert_eq!(candidates(model).last().map(String::as_str), Some(family), "{model}");
        }
    }

    #[test]
    fn the_exact_name_comes_first() {
        let names = candidates("openai/gpt-4o-2024-05-13");
        assert_eq!(names, ["openai/gpt-4o-2024-05-13", "gpt-4o-2024-05-13", "gpt-4o"]);
    }

    #[test]
    fn other_models_and_providers_keep_their_names() {
        for model in [
            "gpt-5-nano",
            "gpt-5-20",
            "ollama/qwen3-max",
            "groq/openai/gpt-5",
            "deepseek-v3",
            "",
            "-20250805",
            "ü-1",
        ] {
            assert_eq!(candidates(model).last().map(String::as_str), Some(model), "{model}");
        }
    }
}
