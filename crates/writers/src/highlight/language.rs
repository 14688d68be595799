//! The table of languages: the syntax of their comments, strings and words.

use streamfmt_core::names::Names;

/// The syntax of a language, as far as highlighting needs it.
#[derive(Debug)]
pub(super) struct Language {
    /// Its names after a fence, and its file extensions.
    pub(super) names: Names,
    /// The kind of language.
    pub(super) family: LanguageFamily,
    /// The marks that begin a comment to the end of the line.
    pub(super) comments: &'static [&'static str],
    /// The marks that begin and end a comment of any length.
    pub(super) block: Option<(&'static str, &'static str)>,
    /// The marks of strings, longer ones first.
    pub(super) quotes: &'static [Quote],
    /// Sorted; in lower case for [`LanguageFamily::Query`].
    pub(super) keywords: Names,
}

impl Language {
    /// Returns all marks that begin a comment or a string. None is empty.
    pub(super) fn marks(&self) -> impl Iterator<Item = &'static str> {
        let block = self.block.map(|(open, _)| open);
        let quotes = self.quotes.iter().map(|quote| quote.mark);
        self.comments.iter().copied().chain(block).chain(quotes)
    }
}

/// The kind of a language, which determines how its words are classified.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum LanguageFamily {
    /// Keywords, names, calls.
    Code,
    /// As [`Self::Code`], with keywords in any case.
    Query,
    /// Commands, options, variables.
    Shell,
    /// Keys before values.
    Data,
    /// Tags with attributes.
    Tags,
    /// Added and removed lines.
    Changes,
}

/// The mark that begins and ends a string.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Quote {
    pub(super) mark: &'static str,
    /// Whether a string may have several lines.
    pub(super) long: bool,
    /// Whether a backslash escapes the next character.
    pub(super) escapes: bool,
    /// Whether it must enclose a single character; otherwise it begins no string.
    pub(super) single: bool,
}

const fn quote(mark: &'static str) -> Quote {
    Quote { mark, long: false, escapes: true, single: false }
}

const fn long(mark: &'static str) -> Quote {
    Quote { mark, long: true, escapes: true, single: false }
}

const fn bare(mark: &'static str) -> Quote {
    Quote { mark, long: true, escapes: false, single: false }
}

const DOUBLE: Quote = quote("\"");
const SINGLE: Quote = quote("'");
const CHARACTER: Quote = Quote { mark: "'", long: false, escapes: true, single: true };

const SLASHES: &[&str] = &["//"];
const HASH: &[&str] = &["#"];
const STARS: Option<(&str, &str)> = Some(("/*", "*/"));

/// All languages. A new one is a new row.
pub(super) static LANGUAGES: [Language; 16] = [
    Language {
        names: Names::of("rs rust"),
        family: LanguageFamily::Code,
        comments: SLASHES,
        block: STARS,
        quotes: &[long("\""), CHARACTER],
        keywords: Names::of(
            "as async await break const continue crate dyn else enum extern fn for if impl in let \
             loop match mod move mut pub ref return self static struct super trait type union \
             unsafe use where while",
        ),
    },
    Language {
        names: Names::of("cjs cts javascript js jsx mjs mts svelte ts tsx typescript vue"),
        family: LanguageFamily::Code,
        comments: SLASHES,
        block: STARS,
        quotes: &[DOUBLE, SINGLE, long("`")],
        keywords: Names::of(
            "abstract as async await break case catch class const continue debugger declare default \
             delete do else enum export extends finally for from function if implements import in \
             instanceof interface keyof let namespace new of private protected public readonly \
             return static super switch this throw try type typeof var void while yield",
        ),
    },
    Language {
        names: Names::of("py pyi python python3 starlark bzl"),
        family: LanguageFamily::Code,
        comments: HASH,
        block: None,
        quotes: &[long("\"\"\""), long("'''"), DOUBLE, SINGLE],
        keywords: Names::of(
            "and as assert async await break case class continue def del elif else except finally \
             for from global if import in is lambda match nonlocal not or pass raise return self \
             try while with yield",
        ),
    },
    Language {
        names: Names::of("go golang"),
        family: LanguageFamily::Code,
        comments: SLASHES,
        block: STARS,
        quotes: &[DOUBLE, SINGLE, bare("`")],
        keywords: Names::of(
            "break case chan const continue default defer else fallthrough for func go goto if \
             import interface map package range return select struct switch type var",
        ),
    },
    Language {
        names: Names::of("c cc cpp cxx c++ h hh hpp m mm objc cu glsl wgsl zig"),
        family: LanguageFamily::Code,
        comments: SLASHES,
        block: STARS,
        quotes: &[DOUBLE, SINGLE],
        keywords: Names::of(
            "auto bool break case catch char class const constexpr continue default delete do \
             double else enum extern float fn for friend goto if inline int long namespace new \
             operator override private protected public return short signed sizeof static struct \
             switch template this throw try typedef typename union unsigned using var virtual void \
             volatile while",
        ),
    },
    Language {
        names: Names::of("java kt kts kotlin cs csharp swift scala dart groovy gradle php"),
        family: LanguageFamily::Code,
        comments: SLASHES,
        block: STARS,
        quotes: &[long("\"\"\""), DOUBLE, SINGLE],
        keywords: Names::of(
            "abstract as async await boolean break case catch class const continue def default do \
             double echo else enum extends extension final finally float for foreach fun func \
             function guard if implements import in init int interface internal is let long match \
             namespace new object override package private protected protocol public record return \
             sealed self static string struct super switch this throw throws trait try using val \
             var void when where while with yield",
        ),
    },
    Language {
        names: Names::of("rb ruby ex exs elixir cr"),
        family: LanguageFamily::Code,
        comments: HASH,
        block: None,
        quotes: &[long("\"\"\""), DOUBLE, SINGLE],
        keywords: Names::of(
            "alias and begin break case class cond def defmodule defp do else elsif end ensure fn \
             for if in module next not or raise redo require rescue retry return self super then \
             unless until use when while with yield",
        ),
    },
    Language {
        names: Names::of("lua luau"),
        family: LanguageFamily::Code,
        comments: &["--"],
        block: Some(("--[[", "]]")),
        quotes: &[DOUBLE, SINGLE, bare("`")],
        keywords: Names::of(
            "and break continue do else elseif end export for function goto if in local not or \
             repeat return self then type until while",
        ),
    },
    Language {
        names: Names::of("hs haskell elm ml ocaml nix"),
        family: LanguageFamily::Code,
        comments: &["-- "],
        block: Some(("{-", "-}")),
        quotes: &[DOUBLE],
        keywords: Names::of(
            "begin case class data deriving do else end forall fun if import in inherit instance \
             let match module newtype of open rec then type val where with",
        ),
    },
    Language {
        names: Names::of("sql mysql pgsql postgres sqlite"),
        family: LanguageFamily::Query,
        comments: &["--"],
        block: STARS,
        quotes: &[quote("\""), bare("'")],
        keywords: Names::of(
            "add all alter and as asc begin between by case commit constraint create cross default \
             delete desc distinct drop else end exists foreign from full group having if in index \
             inner insert into is join key left like limit not offset on or order outer primary \
             references returning right rollback select set table then union unique update using \
             values view when where with",
        ),
    },
    Language {
        names: Names::of("bash console dockerfile fish ksh make makefile mk sh shell shell-session zsh"),
        family: LanguageFamily::Shell,
        comments: HASH,
        block: None,
        quotes: &[long("\""), bare("'")],
        keywords: Names::of(
            "break case continue do done elif else esac exit export fi for function if in local \
             return select set then time unset until while",
        ),
    },
    Language {
        names: Names::of("json json5 jsonc jsonl ndjson"),
        family: LanguageFamily::Data,
        comments: SLASHES,
        block: STARS,
        quotes: &[DOUBLE],
        keywords: Names::of(""),
    },
    Language {
        names: Names::of("cfg conf env ini lock properties toml yaml yml"),
        family: LanguageFamily::Data,
        comments: HASH,
        block: None,
        quotes: &[long("\"\"\""), DOUBLE, SINGLE],
        keywords: Names::of(""),
    },
    Language {
        names: Names::of("css less sass scss"),
        family: LanguageFamily::Data,
        comments: SLASHES,
        block: STARS,
        quotes: &[DOUBLE, SINGLE],
        keywords: Names::of(""),
    },
    Language {
        names: Names::of("htm html plist svg xhtml xml xsd"),
        family: LanguageFamily::Tags,
        comments: &[],
        block: Some(("<!--", "-->")),
        quotes: &[],
        keywords: Names::of(""),
    },
    Language {
        names: Names::of("diff patch"),
        family: LanguageFamily::Changes,
        comments: &[],
        block: None,
        quotes: &[],
        keywords: Names::of(""),
    },
];
