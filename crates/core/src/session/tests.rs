use super::*;

fn used(input: u64, output: u64) -> Usage {
    Usage { input, output, ..Usage::default() }
}

#[test]
fn an_outcome_raises_what_messages_told_too_early_and_counts_once() {
    let mut session = Session::default();
    let mut apply = |event| {
        session.apply(event, |_, _| {});
        (session.usage().input, session.usage().output)
    };
    let message = |id: &str, usage| Event::Usage { message: Id::from(id), usage };
    let outcome = |id: &str, usage| Event::Totals { outcome: Id::from(id), usage };
    assert_eq!(apply(message("m-1", used(10, 1))), (10, 1));
    assert_eq!(apply(outcome("o-1", used(10, 300))), (10, 300));
    assert_eq!(apply(outcome("o-1", used(10, 300))), (10, 300), "the same again");
    assert_eq!(apply(message("m-2", used(20, 1))), (30, 301));
    // A sub-agent's are not among them.
    assert_eq!(apply(outcome("o-2", used(5, 40))), (30, 340));
}
