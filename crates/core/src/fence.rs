//! Finds fenced code blocks in Markdown, line by line.

/// The longest line that may begin a block, in bytes.
const MAX_LINE: usize = 200;

/// The code block that is open after the lines so far, if any.
#[derive(Clone, Debug, Default)]
pub(crate) struct Fence {
    /// The line that began the open block.
    begun: Option<String>,
}

impl Fence {
    /// The line that began the open block, if one is open.
    pub(crate) fn open(&self) -> Option<&str> {
        self.begun.as_deref()
    }

    /// Takes the next line, without blanks at its end. Returns whether it begins or ends a block.
    pub(crate) fn pass(&mut self, line: &str) -> bool {
        let Some((mark, count)) = marks_of(line) else { return false };
        match &self.begun {
            None if line.len() <= MAX_LINE && !(mark == '`' && line.trim_start()[count..].contains('`')) => {
                self.begun = Some(line.to_owned());
                true
            }
            None => false,
            Some(begun) => {
                let ends = marks_of(begun).is_none_or(|(own, least)| own == mark && count >= least)
                    && line.trim_start().len() == count;
                if ends {
                    self.begun = None;
                }
                ends
            }
        }
    }
}

/// The marks of a fence at the start of a line: the character, and its number.
fn marks_of(line: &str) -> Option<(char, usize)> {
    let text = line.trim_start_matches(' ');
    let mark = text.chars().next().filter(|mark| matches!(mark, '`' | '~'))?;
    let count = text.bytes().take_while(|byte| char::from(*byte) == mark).count();
    (count >= 3 && line.len() - text.len() <= 3).then_some((mark, count))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_begin_and_end_blocks() {
        for (lines, is_in) in [
            (&["```"][..], true),
            (&["```", "~~~", "````"], false),
            (&["````", "```"], true),
            (&["```a`b"], false),
            (&["    ```"], false),
            (&["~~~ x", "~~~~"], false),
            (&["```", "``` x"], true),
        ] {
            let mut fence = Fence::default();
            for line in lines {
                fence.pass(line);
            }
            assert_eq!(fence.open().is_some(), is_in, "{lines:?}");
        }
    }
}
