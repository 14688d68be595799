//! The threads of a run. They are made before the agent is started, so that no run begins that can't be recorded.

use std::io::{self, PipeReader};
use std::sync::mpsc::{self, Sender};
use std::thread::{Builder, JoinHandle};

use rustix::io::Errno;
use rustix::process::{Pid, WaitId, WaitIdOptions, waitid};
use streamfmt::Engine;

use super::run_world::AgentProcess;
use super::{RunEnd, RunLoop};
use crate::findings::StreamVerdict;
use crate::keeper::Keeper;

/// Threads that wait for an agent. If they are dropped, no agent was started, and they end.
pub(super) struct RunThreads {
    /// Follows the stream.
    keeper: JoinHandle<StreamVerdict>,
    /// Records the run once it has its loop.
    recorder: JoinHandle<RunEnd>,
    run: Sender<RunLoop<AgentProcess>>,
    /// Receives the process whose exit is waited for.
    agent: Sender<Pid>,
    /// Reaches its end when that process has exited.
    exit: PipeReader,
    /// Requests of the keeper.
    requests: PipeReader,
}

impl RunThreads {
    /// Makes the threads. `engine`: provides the dialects for the keeper.
    pub(super) fn wait(keeper: Keeper, engine: Engine, requests: PipeReader) -> io::Result<Self> {
        let (exit, exited) = io::pipe()?;
        let (agent, agents) = mpsc::channel();
        // This only waits for the end and leaves the process a zombie, so its id isn't reused while signals may be sent to it.
        Builder::new().name("exit".to_owned()).spawn(move || {
            let Ok(agent) = agents.recv() else { return };
            let ended = || waitid(WaitId::Pid(agent), WaitIdOptions::EXITED | WaitIdOptions::NOWAIT);
            while ended().is_err_and(|error| error == Errno::INTR) {}
            drop(exited);
        })?;
        let (run, runs) = mpsc::channel::<RunLoop<AgentProcess>>();
        let record = move || runs.recv().map_or_else(|_| RunEnd::unknown(), RunLoop::run);
        let recorder = Builder::new().name("recorder".to_owned()).spawn(record)?;
        let keeper = Builder::new().name("keeper".to_owned()).spawn(move || keeper.run(&engine))?;
        Ok(Self { keeper, recorder, run, agent, exit, requests })
    }

    /// Records the run of an agent that was started. `loop_of` receives the keeper, a pipe that ends with the agent, and the keeper's
    /// requests.
    pub(super) fn begin(
        self,
        agent: Pid,
        loop_of: impl FnOnce(JoinHandle<StreamVerdict>, PipeReader, PipeReader) -> RunLoop<AgentProcess>,
    ) -> JoinHandle<RunEnd> {
        // Both threads are waiting for it.
        let _ = self.agent.send(agent);
        let _ = self.run.send(loop_of(self.keeper, self.exit, self.requests));
        self.recorder
    }
}
