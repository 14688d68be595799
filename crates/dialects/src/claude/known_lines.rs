//! The types of lines that are no messages of the conversation and have no function of their own.
//!
//! Each name is decided by a recording of the program or by the types that its vendor publishes, never by its sound. A name that
//! neither decides is in [`IN_FULL`]. `tests/names` lists all names with their sources, and a test holds these tables to that list.

use streamfmt_core::names::Names;

/// Types of lines without content of their own: other lines have it, too, or they only report a state of the program. Sorted.
pub(super) static COUNTED: Names = Names::of(
    "api-request api-request-blob api-request-shape atis-latch command_lifecycle control_cancel_request \
     file-history-delta file-history-snapshot keep_alive last-prompt launched mode permission-mode \
     progress queue-operation started tool_progress tools-used",
);

/// The same for the subtypes of `system` lines. Sorted.
pub(super) static COUNTED_OF_SYSTEM: Names = Names::of(
    "background_tasks_changed hook_progress hook_started session_state_changed status task_progress \
     task_started task_updated thinking_tokens",
);

/// Types of lines with content that only programs need: shown if everything is.
pub(super) static IN_FULL: Names = Names::of(
    "active_goal agent-name api-request-resumed artifact-autoreact-ledger auth_status autocompact_state \
     bridge-session content-replacement control_response frame-link history-suppression host-row \
     hybrid-organization relocated repl-mode resume-head-vouch tag worktree-state",
);

/// The same for the subtypes of `system` lines.
pub(super) static IN_FULL_OF_SYSTEM: Names = Names::of(
    "bridge_state bridge_status commands_changed control_request_progress elicitation_complete file_snapshot \
     files_persisted memory_recall memory_saved mirror_error permission_check_status plugin_install \
     post_turn_summary shell_cwd task_summary turn_starting worker_shutting_down",
);

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_that_are_counted_are_sorted() {
        assert!(COUNTED.all().is_sorted() && COUNTED_OF_SYSTEM.all().is_sorted());
    }

    #[test]
    fn each_name_is_listed_with_its_source() {
        let listed = include_str!("../../../../tests/names/claude.ndjson");
        for (prefix, names) in
            [("", &COUNTED), ("", &IN_FULL), ("system/", &COUNTED_OF_SYSTEM), ("system/", &IN_FULL_OF_SYSTEM)]
        {
            for name in names.all() {
                let row = format!("{{\"name\": \"{prefix}{name}\", ");
                assert!(listed.lines().any(|line| line.starts_with(&row)), "{prefix}{name}");
            }
        }
    }
}
