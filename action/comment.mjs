// Comments on the pull request: once, and later runs replace the text of that comment.

import { createHash } from "node:crypto";
import { readFileSync } from "node:fs";

import { Failed, graphql } from "./lib/api.mjs";
import { cut } from "./lib/cut.mjs";
import { links, note } from "./lib/links.mjs";
import { Refusal, annotate, given, output, print, step } from "./lib/runner.mjs";

/** What the service accepts; it counts characters, of which there are never more than bytes. */
const MOST_BYTES = 65_536;

const COMMENTS = `query($owner: String!, $name: String!, $number: Int!, $before: String) {
  viewer { login }
  repository(owner: $owner, name: $name) {
    pullRequest(number: $number) {
      id
      comments(last: 100, before: $before) {
        nodes { id url body author { __typename login } }
        pageInfo { hasPreviousPage startCursor }
      }
    }
  }
}`;

const ADD = `mutation($subject: ID!, $body: String!) {
  addComment(input: { subjectId: $subject, body: $body }) { commentEdge { node { url } } }
}`;

const UPDATE = `mutation($id: ID!, $body: String!) {
  updateIssueComment(input: { id: $id, body: $body }) { issueComment { url } }
}`;

await step(() => {
  try {
    comment();
  } catch (error) {
    if (!(error instanceof Failed || error instanceof Refusal)) throw error;
    const hint = error.isForbidden
      ? "; the job needs `permissions: pull-requests: write`, and for a pull request of a fork the token can only read"
      : "";
    const message = `no comment on the pull request: ${error.message}${hint}`;
    if (given("INPUT_COMMENT") === "required") throw new Refusal(message);
    annotate("notice", message);
  }
});

function comment() {
  const number = pullRequest();
  const request = graphql(process.env.GITHUB_GRAPHQL_URL ?? "", given("INPUT_TOKEN"), given("FOLDER"));
  const [owner, name] = process.env.GITHUB_REPOSITORY.split("/");
  const mark = marker();
  const body = `${mark}\n${text(Buffer.byteLength(mark) + 1)}`;
  let before = null;
  let subject;
  do {
    const { viewer, repository } = request(COMMENTS, { owner, name, number, before });
    const found = repository?.pullRequest;
    if (!found) throw new Failed(`there is no pull request ${number}`);
    subject = found.id;
    // Others may write the same marker: only a comment of this token's account is ours.
    const own = found.comments.nodes.findLast((node) => node && isBy(viewer, node.author) && node.body.startsWith(mark));
    if (own) {
      const { updateIssueComment } = request(UPDATE, { id: own.id, body });
      return published("updated", updateIssueComment.issueComment.url);
    }
    before = found.comments.pageInfo.hasPreviousPage ? found.comments.pageInfo.startCursor : null;
  } while (before);
  const { addComment } = request(ADD, { subject, body });
  published("created", addComment.commentEdge.node.url);
}

function published(what, url) {
  output("url", url);
  print(`${what} the comment ${url}`);
}

/** Whether the token's account is this author. Of an app, the account has an ending that the author lacks; a person may have the same name. */
function isBy(viewer, author) {
  const app = /^(.*)\[bot\]$/.exec(viewer.login)?.[1];
  return author?.login === (app ?? viewer.login) && (author.__typename === "Bot") === (app !== undefined);
}

/** The number of the pull request that the input or the event names. */
function pullRequest() {
  if (given("INPUT_PULL_REQUEST")) return Number(given("INPUT_PULL_REQUEST"));
  const event = JSON.parse(readFileSync(process.env.GITHUB_EVENT_PATH, "utf8"));
  const number = event.pull_request?.number ?? (event.issue?.pull_request && event.issue.number) ?? event.workflow_run?.pull_requests?.[0]?.number;
  if (!Number.isInteger(number)) throw new Refusal("the event names no pull request; input pull-request may");
  return number;
}

/** What tells this comment from others: an invisible line that holds nothing of the workflow's own text. */
function marker() {
  const use = `${process.env.GITHUB_WORKFLOW}\n${given("NAME")}`;
  return `<!-- streamfmt-action ${createHash("sha256").update(use).digest("hex").slice(0, 16)} -->`;
}

/** The text below the marker. `taken`: bytes that are used already. */
function text(taken) {
  const { GITHUB_SERVER_URL: server, GITHUB_REPOSITORY: repository, GITHUB_RUN_ID: run } = process.env;
  const head = links([["Run", `${server}/${repository}/actions/runs/${run}`]]);
  const whole = `${head && `${head}\n\n`}${readFileSync(given("SUMMARY"), "utf8")}`;
  return cut(whole, MOST_BYTES - taken, note());
}
