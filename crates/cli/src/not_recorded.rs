//! The input of `run` on systems where no agent can be run: it never exists.

use std::io;
use std::time::Duration;

use streamfmt::core::pipeline::{Pipeline, Setup};

use crate::read_outcome::ReadOutcome;
use crate::signal::Signals;

/// Takes the place of the output of a running agent.
pub(crate) enum NotRecordedInput {}

impl NotRecordedInput {
    pub(crate) fn read(
        &mut self,
        _: &mut [u8],
        _: &mut Signals,
        _: Option<Duration>,
    ) -> io::Result<ReadOutcome> {
        match *self {}
    }

    pub(crate) fn watch(&self, _: &mut Setup) {
        match *self {}
    }

    pub(crate) fn stopped_for(&self) -> Option<&'static str> {
        match *self {}
    }

    pub(crate) fn note(&self, _: &Pipeline, _: &[u8]) {
        match *self {}
    }
}
