//! What is said in the user's role: prompts, commands, and messages of others and of the program.
//!
//! A line's texts and pictures of one author become one item, in the place of the first.

use std::borrow::Cow;

use crate::facts::{echoed, image, leveled, minor, push_list, strings};
use streamfmt_core::event::Event;
use streamfmt_core::item::{Content, Fact, Id, Item, Kind};
use streamfmt_core::json::{Str, Value, ValueKind};

use super::author::{AUTHOR_FIELDS, Author, Sender};
use super::block::ContentBlock;
use super::line::{ClaudeLine, EnvelopeKey};
use super::marker::{self, MarkClass, Marked, UserString};
use super::message::{echo, is_synthetic, type_name};
use super::{Claude, ClaudeItemBuilder};

/// The texts and pictures of a line that belong together.
pub(super) struct Said {
    author: Author,
    /// Whether the program wrote it, not the user.
    is_synthetic: bool,
    /// The item for them, without its content, and its place among the events of the line.
    item: Option<(usize, Item)>,
    /// The texts, each with the part of it that is meant for people unless that is all of it.
    texts: Vec<(u32, Option<String>)>,
    images: Vec<Fact>,
    /// The place of the last notice for a message of somebody else that a tag names.
    message: Option<usize>,
}

impl Said {
    /// Begins what `author` says in a line.
    pub(super) fn by(author: Author, line: &ClaudeLine<'_>) -> Self {
        let flags = line.envelope.flags;
        let is_person = matches!(author, Author::Person);
        Self {
            // What the program adds to a person's prompt may have that person as its origin.
            author: if is_person && (flags.is_synthetic || flags.is_summary) {
                Author::Unknown
            } else {
                author
            },
            is_synthetic: flags.is_synthetic,
            item: None,
            texts: Vec::new(),
            images: Vec::new(),
            message: None,
        }
    }

    /// Begins the item, unless it has begun.
    fn begin(&mut self, builder: &mut ClaudeItemBuilder<'_>) {
        if self.item.is_some() {
            return;
        }
        let place = builder.out.len();
        let item = match &self.author {
            Author::Other(sender) => {
                let mut notice = builder.notice(sender.event, Content::None);
                notice.data.extend(sender.from.clone().map(|from| ("from", from)));
                notice
            }
            _ => builder.unnamed_item(Kind::Prompt),
        };
        self.item = Some((place, item));
    }

    fn add_picture(&mut self, builder: &mut ClaudeItemBuilder<'_>, block: Value<'_>) {
        let picture = image(block);
        if self.is_synthetic && !matches!(self.author, Author::Other(_)) {
            let add_image = |notice: &mut Item| push_list(notice, "images", vec![picture]);
            return builder.put_minor("attachment", Content::None, add_image);
        }
        self.begin(builder);
        self.images.push(picture);
    }

    /// Emits the item.
    pub(super) fn put(self, builder: &mut ClaudeItemBuilder<'_>) {
        let Some((place, mut item)) = self.item else { return };
        if self.texts.is_empty()
            && let Some(Event::Put(message)) = self.message.and_then(|place| builder.out.get_mut(place))
        {
            return push_list(message, "images", self.images);
        }
        let body = match self.author {
            Author::Other(Sender { body, .. }) => body,
            _ => None,
        };
        let words = body.or_else(|| {
            self.texts.iter().any(|(_, words)| words.is_some()).then(|| {
                let text = |node: u32| builder.input.value.same_record(node).decode().unwrap_or_default();
                let words = self
                    .texts
                    .iter()
                    .map(|(node, words)| words.as_deref().map_or_else(|| text(*node), Cow::Borrowed));
                Fact::Text(words.collect::<Vec<_>>().join("\n"))
            })
        });
        item.text = strings(self.texts.into_iter().map(|(node, _)| node).collect());
        item.data.extend(words.map(|words| ("words", words)));
        push_list(&mut item, "images", self.images);
        builder.out.insert(place, Event::Put(Box::new(item)));
    }
}

impl Claude {
    /// Decodes a block of what is said.
    pub(super) fn say_block(
        &mut self,
        builder: &mut ClaudeItemBuilder<'_>,
        said: &mut Said,
        block: ContentBlock<'_>,
        kind: &str,
    ) {
        match kind {
            "text" | "" => match block.text() {
                Some(text) if text.kind() == ValueKind::String => self.say(builder, said, text),
                Some(text) if text.is_null() => {}
                _ => builder.unknown("user/text".into(), block.value),
            },
            "image" | "document" => said.add_picture(builder, block.value),
            _ => builder.unknown(format!("user/{}", type_name(kind)), block.value),
        }
    }

    /// Decodes a text of what is said: of a person, of somebody else, or of the program.
    pub(super) fn say(&mut self, builder: &mut ClaudeItemBuilder<'_>, said: &mut Said, text: Value<'_>) {
        let content = Content::Node(text.node());
        let string = text.decode().unwrap_or_default();
        let words = match marker::read(&string) {
            UserString::Notice(marked) if is_credible(&said.author, &marked) => {
                return self.say_marked(builder, said, marked, content);
            }
            UserString::Notice(_) => None,
            UserString::Prompt(words) => words,
        };
        let flags = builder.line.envelope.flags;
        let is_of_program = !matches!(said.author, Author::Other(_));
        if is_of_program && flags.is_summary {
            return builder.put_minor("summary", content, |_| {});
        }
        if is_of_program && flags.is_synthetic {
            return builder.put_minor("synthetic", content, |_| {});
        }
        if !string.trim().is_empty() {
            said.begin(builder);
            said.texts.push((text.node(), words.map(Cow::into_owned)));
        }
    }

    /// Decodes a text that the program put in words or tags of its own.
    fn say_marked(
        &mut self,
        builder: &mut ClaudeItemBuilder<'_>,
        said: &mut Said,
        marked: Marked<'_>,
        content: Content,
    ) {
        if marked.event == "command" && builder.parent.is_none() {
            let mut command = builder.unnamed_item(Kind::Notice);
            command.text = content;
            command.data.extend(marked.words.map(|words| ("words", Fact::Text(words.into_owned()))));
            self.put_command(false, builder.out);
            self.command = Some(Box::new(command));
            return;
        }
        if marked.event == "continuation" {
            self.cut = None;
        }
        // If the task's call still awaits its result, that will report the same.
        let is_awaited = marked.call.as_deref().is_some_and(|id| self.calls.awaits(&Id::from(id)));
        let is_message = marked.class == MarkClass::Message;
        let mut notice = marked_notice(builder, marked, content);
        if let (Author::Other(Sender { from, body, .. }), true) = (&said.author, is_message) {
            for (name, fact) in [("from", from), ("words", body)] {
                let Some(fact) = fact else { continue };
                notice.data.retain(|(known, _)| *known != name);
                notice.data.push((name, fact.clone()));
            }
        }
        if is_message {
            said.message = Some(builder.out.len());
        }
        builder.put(if is_awaited && notice.fact("minor").is_none() { echoed(notice) } else { notice });
    }

    /// Emits the last command if the line shows whether the agent got it: as a prompt if its text or an answer follows, else as a notice.
    pub(super) fn settle_command(&mut self, kind: &str, builder: &mut ClaudeItemBuilder<'_>) {
        let line = &builder.line;
        let is_known = || line.str(EnvelopeKey::Uuid).is_some_and(|uuid| self.items_by_line.knows(uuid));
        if builder.parent.is_some() || is_known() {
            return;
        }
        let is_prompt = match kind {
            "assistant" => !is_synthetic(line),
            "stream_event" => true,
            "user" if line.envelope.flags.is_synthetic => match command_text(line) {
                Some(is_text) if is_text => true,
                _ => return,
            },
            "user" | "result" => false,
            "system"
                if line.str(EnvelopeKey::Subtype).is_some_and(|kind| kind.begins_with("local_command")) =>
            {
                false
            }
            _ => return,
        };
        self.put_command(is_prompt, builder.out);
    }

    /// Emits the last command.
    pub(super) fn put_command(&mut self, is_prompt: bool, out: &mut Vec<Event>) {
        let Some(mut command) = self.command.take() else { return };
        if is_prompt {
            command.kind = Kind::Prompt;
        } else {
            command.data.push(("event", Fact::Text("command".to_owned())));
        }
        out.push(Event::Put(command));
    }

    /// Decodes a message that was sent while the agent was at work. Returns whether it had any content.
    pub(super) fn queued(&mut self, builder: &mut ClaudeItemBuilder<'_>, attachment: Value<'_>) -> bool {
        let mode = attachment.get("commandMode").and_then(Value::decode);
        let author = match (Author::of(attachment.get_all(AUTHOR_FIELDS)), mode.as_deref()) {
            (Author::Unknown, Some("task-notification")) => Author::task(),
            (Author::Unknown, None | Some("prompt")) => Author::of_line(&builder.line),
            (Author::Unknown, Some("bash")) => Author::shell(),
            (Author::Unknown, Some(_)) => Author::program(),
            (author, _) => author,
        };
        let first = builder.out.len();
        let mut said = Said::by(author, &builder.line);
        match attachment.get("prompt") {
            Some(text) if text.kind() == ValueKind::String => self.say(builder, &mut said, text),
            Some(blocks) => {
                for block in blocks.items().map(ContentBlock::of) {
                    let kind = block.kind().map(Str::decode).unwrap_or_default();
                    self.say_block(builder, &mut said, block, &kind);
                }
            }
            None => {}
        }
        said.put(builder);
        builder.out.len() > first
    }
}

/// Whether a meta line has the text of a command; `None` if it has none at all.
fn command_text(line: &ClaudeLine<'_>) -> Option<bool> {
    if matches!(Author::of_line(line), Author::Other(sender) if sender.event == "hook") {
        return None;
    }
    let content = line.get(EnvelopeKey::Message)?.get("content")?;
    let text = content.decode().or_else(|| content.items().find_map(|block| block.get("text")?.decode()))?;
    Some(match marker::read(&text) {
        UserString::Notice(marked) => marked.event == "skill",
        UserString::Prompt(_) => true,
    })
}

/// Whether an author may have written such a string. If not, it is a text like any other.
fn is_credible(author: &Author, marked: &Marked<'_>) -> bool {
    match (author, marked.class) {
        (Author::Unknown, _) | (_, MarkClass::Note) | (Author::Other(_), MarkClass::Message) => true,
        // An interrupt is reported in the user's name.
        (Author::Person, class) => class == MarkClass::Act || marked.event == "interrupt",
        (Author::Other(sender), _) => sender.event == marked.event || sender.event == "message",
    }
}

/// Returns the notice for a user string that the program wrote.
pub(super) fn marked_notice(builder: &mut ClaudeItemBuilder<'_>, marked: Marked<'_>, text: Content) -> Item {
    let mut notice = builder.notice(marked.event, text);
    let path = marker::skill_folder(&notice.text()).map(str::to_owned);
    let facts = [
        ("words", marked.words.map(Cow::into_owned)),
        ("from", marked.from.map(str::to_owned)),
        ("path", path),
        ("status", marked.status.map(Cow::into_owned)),
    ];
    notice.data.extend(facts.into_iter().filter_map(|(name, text)| Some((name, Fact::Text(text?)))));
    if marked.failed || marked.event == "interrupt" {
        notice = leveled(notice, "warning");
    }
    let notice = echo(notice);
    if marked.minor { minor(notice) } else { notice }
}
