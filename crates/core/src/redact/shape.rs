//! The shapes of secrets, as data.
//!
//! A token is recognised by its beginning and the characters after it, never by how random a text looks,
//! so that commit hashes and UUIDs stay readable. A new kind of token is a row in [`TOKENS`]; further ones, which others publish, are in
//! `published.rs`. What is assigned to a name is a secret if the name has a row in [`NAMES`].

use super::published::PUBLISHED;

/// A class of characters in tokens.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum CharClass {
    /// `0-9`.
    Digit,
    /// `A-Z`, `0-9`.
    Upper,
    /// `0-9`, `a-f`.
    Hex,
    /// Letters and digits.
    Alnum,
    /// Letters, digits, `.`.
    Dotted,
    /// Letters, digits, `_`.
    Word,
    /// Letters, digits, `_`, `-`.
    Url,
    /// Letters, digits, `_`, `-`, `+`, `/`, `=`, `.`, `~`.
    Base64,
    /// Letters, digits, `.`, `/`, `$`, `+`, `=`, `,`, `-`: the hashes of passwords.
    Crypt,
}

impl CharClass {
    /// Whether `byte` belongs to the class.
    pub(super) fn has(self, byte: u8) -> bool {
        match self {
            Self::Digit => byte.is_ascii_digit(),
            Self::Upper => byte.is_ascii_uppercase() || byte.is_ascii_digit(),
            Self::Hex => byte.is_ascii_digit() || matches!(byte, b'a'..=b'f'),
            Self::Alnum => byte.is_ascii_alphanumeric(),
            Self::Dotted => byte.is_ascii_alphanumeric() || byte == b'.',
            Self::Word => byte.is_ascii_alphanumeric() || byte == b'_',
            Self::Url => byte.is_ascii_alphanumeric() || b"_-".contains(&byte),
            Self::Base64 => byte.is_ascii_alphanumeric() || b"_-+/=.~".contains(&byte),
            Self::Crypt => byte.is_ascii_alphanumeric() || b"./$+=,-".contains(&byte),
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

/// No limit of the length.
pub(super) const ANY: usize = usize::MAX;

/// A list of texts in a table.
pub(super) type Texts = &'static [&'static str];

const fn token(name: &'static str, starts: Texts, class: CharClass, length: (usize, usize)) -> Token {
    Token { name, starts, class, length, has_digit: false }
}

const fn wordy(name: &'static str, starts: Texts, class: CharClass, length: (usize, usize)) -> Token {
    Token { name, starts, class, length, has_digit: true }
}

/// A row of the table of published shapes. Their alphabets include words.
pub(super) const fn published(
    name: &'static str,
    starts: Texts,
    class: CharClass,
    length: (usize, usize),
) -> Token {
    wordy(name, starts, class, length)
}

use CharClass::{Alnum, Base64, Crypt, Digit, Hex, Upper, Url, Word};

/// Our own kinds of tokens. If one beginning is a prefix of another, the longer one comes first.
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
    token("langfuse-key", &["sk-lf-"], Url, (36, ANY)),
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
    wordy("tavily-key", &["tvly-"], Url, (20, ANY)),
    wordy("context7-key", &["ctx7sk-"], Url, (30, ANY)),
    token("firecrawl-key", &["fc-"], Hex, (32, 32)),
    token("e2b-key", &["e2b_"], Hex, (40, 40)),
    wordy("pinecone-key", &["pcsk_"], Url, (40, ANY)),
    wordy("jina-key", &["jina_"], Url, (40, ANY)),
    wordy("cerebras-key", &["csk-"], Alnum, (40, ANY)),
    token("bedrock-key", &["bedrock-api-key-"], Base64, (20, ANY)),
    wordy("wandb-key", &["wandb_v1_"], Word, (40, ANY)),
    wordy("browserbase-key", &["bb_live_", "bb_test_"], Url, (20, ANY)),
    wordy("cursor-key", &["crsr_", "key_"], Hex, (64, 64)),
    wordy("voyage-key", &["pa-"], Url, (43, 43)),
    wordy("together-key", &["tgp_v1_"], Url, (40, ANY)),
    wordy("fireworks-key", &["fw_"], Alnum, (22, 30)),
    wordy("apify-token", &["apify_api_"], Alnum, (30, ANY)),
    wordy("resend-key", &["re_"], Word, (33, 33)),
    wordy("netlify-token", &["nfp_", "nfc_", "nfo_"], Alnum, (30, ANY)),
    wordy("vercel-token", &["vcp_", "vca_", "vci_", "vcr_", "vck_"], Alnum, (24, ANY)),
    wordy("vercel-token", &["vercel_blob_rw_"], Word, (30, ANY)),
    wordy("render-key", &["rnd_"], Alnum, (24, ANY)),
    wordy("neon-key", &["napi_"], Alnum, (40, ANY)),
    wordy("cloudflare-token", &["cfut_", "cfat_"], Word, (40, ANY)),
    wordy("nuget-key", &["oy2"], Alnum, (43, 43)),
    wordy("honeycomb-key", &["hcaik_", "hcbik_", "hcxik_", "hcmik_"], Alnum, (40, ANY)),
    wordy("posthog-key", &["phx_"], Alnum, (40, ANY)),
    token("sonar-token", &["sqp_", "squ_", "sqa_"], Hex, (40, 40)),
    wordy("circleci-token", &["CCIPAT_", "CCIPRJ_"], Word, (40, ANY)),
    token("buildkite-token", &["bkua_"], Hex, (40, 40)),
    wordy("linear-token", &["lin_oauth_"], Alnum, (32, ANY)),
    wordy("notion-token", &["secret_"], Alnum, (43, 43)),
    wordy("plaid-token", &["access-production-", "access-sandbox-", "access-development-"], Url, (36, 36)),
    wordy("flutterwave-key", &["FLWSECK-"], Url, (20, ANY)),
    wordy("doppler-token", &["dp.st.", "dp.ct.", "dp.sa.", "dp.scim.", "dp.audit."], Base64, (40, ANY)),
    wordy("clerk-key", &["sk_org_live_", "sk_org_test_"], Alnum, (20, ANY)),
    wordy("stripe-key", &["sk_prod_", "rk_prod_"], Alnum, (10, ANY)),
    wordy("razorpay-key", &["rzp_live_", "rzp_test_"], Alnum, (14, 14)),
    wordy("fly-token", &["fm1a_", "fm1r_"], Base64, (40, ANY)),
    wordy("zapier-webhook", &["hooks.zapier.com/hooks/catch/"], Base64, (10, ANY)),
    wordy("make-webhook", &["hook.eu1.make.com/", "hook.eu2.make.com/"], Alnum, (24, ANY)),
    wordy("make-webhook", &["hook.us1.make.com/", "hook.us2.make.com/"], Alnum, (24, ANY)),
    wordy("teams-webhook", &["webhook.office.com/webhookb2/", "IncomingWebhook/"], Base64, (30, ANY)),
    // The Base64 of `-----BEGIN PRIVATE`, and of `-----BEGIN RSA PRIVATE` and others.
    token("private-key", &["LS0tLS1CRUdJTiBQUklWQVRF", "LS0tLS1CRUdJTiBSU0EgUFJJVkFU"], Base64, (40, ANY)),
    token(
        "private-key",
        &["LS0tLS1CRUdJTiBFQyBQUklWQVRF", "LS0tLS1CRUdJTiBEU0EgUFJJVkFU"],
        Base64,
        (40, ANY),
    ),
    token(
        "private-key",
        &["LS0tLS1CRUdJTiBPUEVOU1NIIFBS", "LS0tLS1CRUdJTiBFTkNSWVBURUQg"],
        Base64,
        (40, ANY),
    ),
    token("password-hash", &["$2a$", "$2b$", "$2y$"], Crypt, (56, ANY)),
    token("password-hash", &["$argon2id$", "$argon2i$", "$argon2d$", "$scrypt$"], Crypt, (30, ANY)),
    token("password-hash", &["$pbkdf2-sha256$", "$pbkdf2-sha512$", "$pbkdf2$"], Crypt, (30, ANY)),
    wordy("password-hash", &["$1$", "$5$", "$6$", "$y$", "$7$", "$apr1$"], Crypt, (24, ANY)),
    wordy("password-hash", &["pbkdf2_sha256$", "pbkdf2_sha512$", "bcrypt_sha256$"], Crypt, (40, ANY)),
    wordy("password-hash", &["{SSHA}", "{SHA}", "{SSHA512}"], Base64, (28, ANY)),
];

/// A kind of token that is recognised by a mark within it.
pub(super) struct MarkedToken {
    /// The name that replaces it.
    pub(super) name: &'static str,
    /// The mark.
    pub(super) mark: &'static str,
    /// The characters before the mark, and the least and the most of them.
    pub(super) before: (CharClass, usize, usize),
    /// The same after the mark.
    pub(super) after: (CharClass, usize, usize),
}

/// All kinds of tokens that are recognised by a mark.
pub(super) static MARKED: &[MarkedToken] = &[
    MarkedToken { name: "telegram-token", mark: ":AA", before: (Digit, 8, 10), after: (Url, 32, 35) },
    MarkedToken { name: "mailchimp-key", mark: "-us", before: (Hex, 32, 32), after: (Digit, 1, 2) },
    MarkedToken { name: "azure-client-secret", mark: "Q~", before: (Base64, 4, 4), after: (Base64, 31, 36) },
    MarkedToken { name: "maxmind-key", mark: "_mmk", before: (Word, 36, 36), after: (Word, 0, 0) },
];

/// The kinds of tokens, each with one of its beginnings.
pub(super) fn tokens() -> impl Iterator<Item = (&'static str, &'static Token)> {
    TOKENS.iter().chain(PUBLISHED).flat_map(|token| token.starts.iter().map(move |start| (*start, token)))
}

/// How a name is read, and which values of it are secrets.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum NameKind {
    /// A name of passwords, also as a part of a longer one: short values count, too.
    Strong,
    /// The same for names that other things have as well: only longer values with digits.
    Weak,
    /// A short name of passwords, which must be a word of its own: `SMTP_PASS`, but not `bypass`.
    Word,
    /// A word of its own after others, `GH_PAT`, or alone in quotes or after `_`: only values that look drawn.
    Drawn,
    /// `KEY` at the end of a name in capitals: only values that look drawn.
    UpperKey,
    /// A parameter of an address: only values that look drawn.
    Parameter,
    /// A header with pairs of names and values.
    Cookie,
}

use NameKind::{Cookie, Drawn, Parameter, Strong, UpperKey, Weak};

/// Names to which secrets are assigned, in any case. If several names begin at a place, the first one that has a secret counts.
pub(super) static NAMES: &[(&str, NameKind)] = &[
    ("passw", Strong),
    ("passphrase", Strong),
    ("passcode", Strong),
    ("secret", Strong),
    ("api_key", Strong),
    ("api-key", Strong),
    ("api key", Strong),
    ("apikey", Strong),
    ("access_key", Strong),
    ("access-key", Strong),
    ("access key", Strong),
    ("accesskey", Strong),
    ("account_key", Strong),
    ("account-key", Strong),
    ("account key", Strong),
    ("accountkey", Strong),
    ("private_key", Strong),
    ("private-key", Strong),
    ("private key", Strong),
    ("privatekey", Strong),
    ("signing_key", Strong),
    ("signing-key", Strong),
    ("signing key", Strong),
    ("signingkey", Strong),
    ("encryption_key", Strong),
    ("encryption-key", Strong),
    ("encryption key", Strong),
    ("encryptionkey", Strong),
    ("master_key", Strong),
    ("master-key", Strong),
    ("master key", Strong),
    ("masterkey", Strong),
    ("key-data", Drawn),
    ("credential", Weak),
    ("token", Weak),
    ("authorization", Strong),
    ("pass", NameKind::Word),
    ("pwd", NameKind::Word),
    ("pw", NameKind::Word),
    ("pat", Drawn),
    ("auth", Drawn),
    ("private-mac", Weak),
    ("key", UpperKey),
    ("key", Parameter),
    ("sig", Parameter),
    ("signature", Parameter),
    ("code", Parameter),
    ("cookie", Cookie),
];

/// First parts of names in capitals that end with `KEY` and aren't secret.
pub(super) static PUBLIC_KEYS: &[&str] = &[
    "PUBLIC",
    "PUBLISHABLE",
    "PRIMARY",
    "FOREIGN",
    "SORT",
    "CACHE",
    "PARTITION",
    "IDEMPOTENCY",
    "UNIQUE",
    "HOST",
    "GPG",
    "PGP",
    "OBJECT",
    "ROW",
    "SHARD",
    "LOOKUP",
    "RESTORE",
    "HASH",
    "RANGE",
    "SITE",
    "ANON",
    "DEDUP",
    "GROUP",
    "S3",
    "PROJECT",
    "BUILD",
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
    "strength",
    "score",
    "rule",
    "reset",
    "required",
];

/// The programs that take a password on their command line, each with the options for it. Whether it must be a part of the
/// option's word: `mysql -p secret` has a database of that name.
pub(super) static COMMANDS: &[(&str, &[&str], bool)] = &[
    ("mysql", &["-p"], true),
    ("mysqldump", &["-p"], true),
    ("mysqladmin", &["-p"], true),
    ("mariadb", &["-p"], true),
    ("mariadb-dump", &["-p"], true),
    ("sshpass", &["-p"], false),
    ("login", &["-p"], false),
    ("mongo", &["-p"], false),
    ("mongosh", &["-p"], false),
    ("mongodump", &["-p"], false),
    ("sqlcmd", &["-P"], false),
    ("redis-cli", &["-a"], false),
    ("ldapsearch", &["-w"], false),
    ("ldapmodify", &["-w"], false),
    ("zip", &["-P"], false),
    ("unzip", &["-P"], false),
    ("7z", &["-p"], true),
    ("rabbitmqadmin", &["-p"], false),
];

/// Options that take a user and a password, separated by a colon, and those of programs for which any password counts.
pub(super) static USER_OPTIONS: &[&str] = &["-u", "--user", "--proxy-user", "-U", "-a", "--auth"];

/// Programs whose options for a user take any password.
pub(super) static FETCHERS: &[&str] = &["curl", "http", "https", "xh", "ab", "hey"];

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
    "basic",
    "digest",
    "required",
    "yourpassword",
    "your-password",
    "your_password",
    "your-api-key",
    "your_api_key",
    "pbkdf2",
    "argon2",
    "argon2id",
    "sha256",
    "sha512",
    "oauth2",
    "base64",
];

/// The names of types that a number may follow: `varchar255` isn't a value.
pub(super) static TYPES: &[&str] = &[
    "varchar", "char", "string", "str", "text", "int", "uint", "bytes", "byte", "utf", "sha", "hex", "max",
    "min",
];

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_longer_beginning_comes_before_a_shorter_one() {
        let starts = |tokens: &'static [Token]| tokens.iter().flat_map(|token| token.starts.iter().copied());
        for table in [TOKENS, PUBLISHED] {
            for (at, start) in starts(table).enumerate() {
                let hidden = starts(table).take(at).find(|other| start.starts_with(other));
                assert!(hidden.is_none_or(|other| other == start), "{start} comes too late");
            }
        }
    }
}
