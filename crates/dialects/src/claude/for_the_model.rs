//! Text that the program adds to results for the model alone: the frame around a sub-agent's report, and advice on the next steps.

use streamfmt_core::item::Item;
use streamfmt_core::text::Text;

/// The beginning of the frame above a sub-agent's report. Notes above it are the program's, too.
pub(super) const REPORT: &str = "[Subagent hand-back]";
/// The end of that frame. All lines of the report are indented by two blanks, so they can't be mistaken for lines of the frame.
const REPORT_BEGINS: &str = "The report follows:\n";
/// The line below the report: the sub-agent's id, and how to resume it.
const AGENT: &str = "agentId: ";
const USAGE: &str = "<usage>";
/// The result of starting a sub-agent in the background.
const LAUNCHED: &str = "Async agent launched successfully.";

/// Tools whose results contain advice, and its beginnings: from there on, a result is for the model.
const ADVICE: &[(&str, &[&str])] = &[
    ("CronCreate", &[" Use CronDelete to cancel"]),
    ("EnterWorktree", &[" Use ExitWorktree to leave"]),
    ("Monitor", &[" You will be notified on each event.", "; you get one notice at expiry"]),
    ("ScheduleWakeup", &[" If you owe the user a status update", " If you armed a Monitor for this loop"]),
    ("SendMessage", &["\nUse ListAgents to see"]),
];

/// Returns the sentences of this file, which no code outside this dialect may contain.
pub(super) fn sentences() -> impl Iterator<Item = &'static str> {
    [REPORT, REPORT_BEGINS.trim_end(), LAUNCHED]
        .into_iter()
        .chain(ADVICE.iter().flat_map(|(_, advice)| *advice).copied())
}

/// Returns the report of a sub-agent without the frame.
pub(super) fn report(text: Text) -> Text {
    if text.starts_with(LAUNCHED) {
        return text.slice(0, LAUNCHED.len());
    }
    let framed = text.split_once(REPORT).and_then(|(_, frame)| frame.split_once(REPORT_BEGINS));
    if let Some((_, report)) = framed {
        let lines = report.lines().take_while(|line| line.is_empty() || line.starts_with("  "));
        let lines: Vec<&str> = lines.map(|line| line.get(2..).unwrap_or_default()).collect();
        return Text::clean(lines.join("\n").trim_end());
    }
    // Earlier versions have no frame, but write the id and the usage right below the report.
    let is_usage = |rest: &str| rest.is_empty() || rest.starts_with(USAGE);
    let end = text.rfind(AGENT).filter(|at| *at == 0 || text[..*at].ends_with('\n'));
    match end.filter(|at| is_usage(text[*at..].split_once('\n').map_or("", |(_, rest)| rest))) {
        Some(end) => text.slice(0, end).trimmed_end(),
        None => text,
    }
}

/// Returns the text of a result without advice to the model.
pub(super) fn without_advice(item: &Item, text: Text) -> Text {
    let Some(tool) = item.tool.as_deref() else { return text };
    let Some((_, advice)) = ADVICE.iter().find(|(name, _)| *name == tool) else { return text };
    match advice.iter().filter_map(|advice| text.find(advice)).min() {
        // The advice was in parentheses: close them.
        Some(at) if text[..at].matches('(').count() > text[..at].matches(')').count() => {
            Text::clean_owned([&text[..at], ")"].concat())
        }
        Some(at) => text.slice(0, at),
        None => text,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use streamfmt_core::item::Kind;

    #[test]
    fn a_report_comes_without_its_frame() {
        for (text, expected) in [
            (
                "  <tools-used-before-summary>Bash</tools-used-before-summary>\n  \n[Subagent hand-back] Words. The report \
                 follows:\n  Two:\n  \n    one\n  agentId: x\nagentId: a1 (use SendMessage)\n<usage>tool_uses: 3</usage>",
                "Two:\n\n  one\nagentId: x",
            ),
            ("Two.\nagentId: a3 (for resuming)", "Two."),
            ("Two.\nagentId: a3 (for resuming)\n<usage>tokens: 3\ntools: 1</usage>", "Two."),
            ("The field is\nagentId: a string\nand so on", "The field is\nagentId: a string\nand so on"),
            (
                "Async agent launched successfully. (Never quote this.)\nagentId: a",
                "Async agent launched successfully.",
            ),
            ("[Subagent hand-back] is a phrase", "[Subagent hand-back] is a phrase"),
        ] {
            assert_eq!(&*report(Text::clean(text)), expected);
        }
    }

    #[test]
    fn advice_of_the_tools_that_give_it_is_left_out() {
        let cleaned = |tool: &str, text: &str| {
            let mut item = Item::new("x", Kind::Result, 1);
            item.tool = Some(tool.into());
            without_advice(&item, Text::clean(text)).into_string()
        };
        let text = "Set for 9:00. If you owe the user a status update, write it now.";
        assert_eq!(cleaned("ScheduleWakeup", text), "Set for 9:00.");
        assert_eq!(cleaned("Bash", text), text);
        let text = "Monitor started (task b, expires in 5s; you get one notice at expiry). You will be notified on each event.";
        assert_eq!(cleaned("Monitor", text), "Monitor started (task b, expires in 5s)");
        for (tool, advice) in [
            ("CronCreate", " Use CronDelete to cancel sooner."),
            ("EnterWorktree", " Use ExitWorktree to leave mid-session."),
            ("ScheduleWakeup", " If you armed a Monitor for this loop, stop it."),
            ("SendMessage", "\nUse ListAgents to see who is there."),
        ] {
            assert_eq!(cleaned(tool, &format!("Done.{advice}")), "Done.", "{tool}");
        }
    }
}
