// Fails the job.

import { Refusal, step } from "./lib/runner.mjs";

await step(() => {
  throw new Refusal("the agent's run failed (input fail-on: failure)");
});
