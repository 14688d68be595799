//! The shapes of secrets, as data.
//!
//! A token is recognised by its beginning and the characters after it, never by how random a text looks,
//! so that commit hashes and UUIDs stay readable. A new kind of token is a row in [`TOKENS`].

/// A class of characters in tokens.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum CharClass {
    /// `A-Z`, `0-9`.
    Upper,
    /// `0-9`, `a-f`.
    Hex,
    /// Letters and digits.
    Alnum,
    /// Letters, digits, `_`.
    Word,
    /// Letters, digits, `_`, `-`.
    Url,
    /// Letters, digits, `_`, `-`, `+`, `/`, `=`, `.`, `~`.
    Base64,
}

impl CharClass {
    /// Whether `byte` belongs to the class.
    pub(super) fn has(self, byte: u8) -> bool {
        match self {
            Self::Upper => byte.is_ascii_uppercase() || byte.is_ascii_digit(),
            Self::Hex => byte.is_ascii_digit() || matches!(byte, b'a'..=b'f'),
            Self::Alnum => byte.is_ascii_alphanumeric(),
            Self::Word => byte.is_ascii_alphanumeric() || byte == b'_',
            Self::Url => byte.is_ascii_alphanumeric() || b"_-".contains(&byte),
            Self::Base64 => byte.is_ascii_alphanumeric() || b"_-+/=.~".contains(&byte),
        }
    }
}

/// A kind of token that is recognised by its beginning.
pub(super) struct Token {
    /// The name that replaces it.
    pub(super) name: &'static str,
    /// Its beginnings.
    starts: Texts,
    /// The characters after that.
    pub(super) class: CharClass,
    /// The least and the most of these characters. A longer text isn't such a token.
    pub(super) length: (usize, usize),
    /// Whether it must contain a digit, because words may begin in the same way.
    pub(super) has_digit: bool,
}

const ANY: usize = usize::MAX;

/// A list of texts in a table.
type Texts = &'static [&'static str];

const fn token(name: &'static str, starts: Texts, class: CharClass, length: (usize, usize)) -> Token {
    Token { name, starts, class, length, has_digit: false }
}

const fn wordy(name: &'static str, starts: Texts, class: CharClass, length: (usize, usize)) -> Token {
    Token { name, starts, class, length, has_digit: true }
}

use CharClass::{Alnum, Base64, Hex, Upper, Url, Word};

/// All kinds of tokens. If one beginning is a prefix of another, the longer one comes first.
static TOKENS: &[Token] = &[
    token("aws-access-key", &["AKIA", "ASIA", "ABIA", "ACCA"], Upper, (16, 16)),
    token("github-token", &["github_pat_"], Word, (22, ANY)),
    token("github-token", &["ghp_", "gho_", "ghu_", "ghr_"], Alnum, (30, ANY)),
    token("github-token", &["ghs_"], Base64, (30, ANY)),
    token("gitlab-token", &["glpat-", "glrt-"], Base64, (20, ANY)),
    token("gitlab-token", &["gldt-", "glptt-", "glcbt-", "glimt-", "glft-", "glsoat-"], Url, (20, ANY)),
    token("gitlab-token", &["glagent-", "gloas-", "GR1348941"], Url, (20, ANY)),
    token("slack-token", &["xoxa-", "xoxb-", "xoxc-", "xoxo-", "xoxp-", "xoxr-", "xoxs-"], Url, (10, ANY)),
    token("slack-token", &["xoxe.xoxb-", "xoxe.xoxp-", "xoxe-"], Url, (10, ANY)),
    token("slack-token", &["xoxd-"], Base64, (10, ANY)),
    token("slack-token", &["xapp-"], Url, (16, ANY)),
    token("slack-webhook", &["hooks.slack.com/services/", "hooks.slack.com/workflows/"], Base64, (20, ANY)),
    token("discord-webhook", &["discord.com/api/webhooks/"], Base64, (40, ANY)),
    token("discord-webhook", &["discordapp.com/api/webhooks/"], Base64, (40, ANY)),
    token("anthropic-key", &["sk-ant-"], Url, (16, ANY)),
    token("openai-key", &["sk-proj-", "sk-svcacct-", "sk-service-", "sk-admin-"], Url, (20, ANY)),
    token("openrouter-key", &["sk-or-"], Url, (20, ANY)),
    wordy("openai-key", &["sk-"], Alnum, (20, ANY)),
    token("google-key", &["AIza"], Url, (35, 39)),
    token("google-token", &["ya29."], Url, (20, ANY)),
    token("google-client-secret", &["GOCSPX-"], Url, (20, ANY)),
    token("google-refresh-token", &["1//0"], Url, (30, ANY)),
    token("stripe-key", &["sk_live_", "sk_test_", "rk_live_", "rk_test_"], Alnum, (10, ANY)),
    token("stripe-webhook-secret", &["whsec_"], Base64, (16, ANY)),
    token("npm-token", &["npm_"], Alnum, (30, ANY)),
    token("pypi-token", &["pypi-"], Url, (50, ANY)),
    token("rubygems-token", &["rubygems_"], Hex, (48, 48)),
    wordy("crates-token", &["cio"], Alnum, (32, 32)),
    token("docker-token", &["dckr_pat_", "dckr_oat_"], Url, (20, ANY)),
    token("hugging-face-token", &["hf_", "api_org_"], Alnum, (30, ANY)),
    token("digitalocean-token", &["dop_v1_", "doo_v1_", "dor_v1_"], Hex, (64, 64)),
    token("sendgrid-key", &["SG."], Base64, (50, ANY)),
    token("shopify-token", &["shpat_", "shpca_", "shppa_"], Alnum, (32, ANY)),
    token("shopify-secret", &["shpss_"], Alnum, (32, ANY)),
    token("square-token", &["sq0atp-"], Url, (22, ANY)),
    token("square-secret", &["sq0csp-"], Url, (40, ANY)),
    token("grafana-token", &["glsa_"], Word, (32, ANY)),
    token("grafana-token", &["glc_"], Base64, (32, ANY)),
    token("databricks-token", &["dapi"], Hex, (32, 32)),
    token("atlassian-token", &["ATATT3", "ATCTT3"], Base64, (40, ANY)),
    token("bitbucket-token", &["ATBB"], Base64, (28, ANY)),
    token("linear-key", &["lin_api_"], Alnum, (32, ANY)),
    token("notion-token", &["ntn_"], Alnum, (40, ANY)),
    token("figma-token", &["figd_"], Url, (30, ANY)),
    token("supabase-key", &["sb_secret_"], Url, (20, ANY)),
    token("supabase-token", &["sbp_"], Hex, (40, 40)),
    token("planetscale-password", &["pscale_pw_"], Base64, (30, ANY)),
    token("planetscale-token", &["pscale_tkn_"], Base64, (30, ANY)),
    token("tailscale-key", &["tskey-"], Url, (16, ANY)),
    token("vault-token", &["hvs.", "hvb."], Url, (24, ANY)),
    token("terraform-token", &["atlasv1."], Url, (40, ANY)),
    token("pulumi-token", &["pul-"], Hex, (40, 40)),
    token("doppler-token", &["dp.pt."], Alnum, (40, ANY)),
    token("fly-token", &["fm2_"], Base64, (40, ANY)),
    token("postman-key", &["PMAK-"], Url, (50, ANY)),
    token("new-relic-key", &["NRAK-"], Upper, (27, 27)),
    token("sentry-token", &["sntrys_"], Base64, (40, ANY)),
    token("sentry-token", &["sntryu_"], Hex, (64, 64)),
    token("groq-key", &["gsk_"], Alnum, (40, ANY)),
    token("xai-key", &["xai-"], Alnum, (60, ANY)),
    token("perplexity-key", &["pplx-"], Alnum, (40, ANY)),
    token("replicate-token", &["r8_"], Alnum, (37, 37)),
    token("nvidia-key", &["nvapi-"], Url, (60, ANY)),
    token("langsmith-key", &["lsv2_pt_", "lsv2_sk_"], Word, (32, ANY)),
    token("age-secret-key", &["AGE-SECRET-KEY-1"], Upper, (58, 58)),
    token("1password-token", &["ops_eyJ"], Url, (100, ANY)),
];

/// The kinds of tokens, each with one of its beginnings.
pub(super) fn tokens() -> impl Iterator<Item = (&'static str, &'static Token)> {
    TOKENS.iter().flat_map(|token| token.starts.iter().map(move |start| (*start, token)))
}

/// Names to which secrets are assigned, in any case. The flag: whether short values count, too.
pub(super) static NAMES: &[(&str, bool)] = &[
    ("passw", true),
    ("passphrase", true),
    ("secret", true),
    ("api_key", true),
    ("api-key", true),
    ("apikey", true),
    ("access_key", true),
    ("access-key", true),
    ("accesskey", true),
    ("account_key", true),
    ("accountkey", true),
    ("private_key", true),
    ("private-key", true),
    ("privatekey", true),
    ("signing_key", true),
    ("encryption_key", true),
    ("credential", false),
    ("token", false),
    ("authorization", true),
];

/// Later parts of names that describe a secret but aren't assigned one.
pub(super) static ABOUT: &[&str] = &[
    "count",
    "usage",
    "used",
    "limit",
    "length",
    "len",
    "type",
    "name",
    "path",
    "file",
    "url",
    "uri",
    "expir",
    "budget",
    "size",
    "total",
    "ref",
    "field",
    "label",
    "placeholder",
    "hint",
    "policy",
    "manager",
    "version",
    "arn",
    "min",
    "max",
    "_id",
    "-id",
    "_at",
];

/// Values of such names that aren't secrets.
pub(super) static WORDS: &[&str] = &[
    "bearer",
    "boolean",
    "changeme",
    "changeit",
    "default",
    "disabled",
    "enabled",
    "example",
    "false",
    "hidden",
    "invalid",
    "missing",
    "none",
    "null",
    "number",
    "object",
    "optional",
    "password",
    "placeholder",
    "redacted",
    "required",
    "secret",
    "string",
    "text",
    "token",
    "true",
    "undefined",
    "unknown",
    "username",
    "write",
    "read",
];

#[cfg(test)]
mod tests {
    use super::tokens;

    #[test]
    fn a_longer_beginning_comes_before_a_shorter_one() {
        for (at, (start, _)) in tokens().enumerate() {
            let hidden = tokens().take(at).find(|(other, _)| start.starts_with(other));
            assert!(hidden.is_none_or(|(other, _)| other == start), "{start} is never found");
        }
    }
}
