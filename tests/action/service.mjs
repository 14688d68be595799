// Plays the service that keeps comments: the GraphQL requests that the action makes, on a port of this machine.

import { createServer } from "node:http";

export class Service {
  constructor() {
    /** What was asked: the headers, and the kind of request. */
    this.requests = [];
    this.comments = [];
    this.isReadOnly = false;
    this.files = new Map();
  }

  async start() {
    this.server = createServer((request, response) => {
      const parts = [];
      request.on("data", (part) => parts.push(part));
      request.on("end", () => this.#answer(request, Buffer.concat(parts), response));
    });
    await new Promise((ready) => this.server.listen(0, "127.0.0.1", ready));
    this.url = `http://127.0.0.1:${this.server.address().port}`;
  }

  stop() {
    this.server.closeAllConnections();
    this.server.close();
  }

  #answer(request, body, response) {
    if (request.method === "GET") {
      const file = this.files.get(request.url);
      response.writeHead(file ? 200 : 404).end(file ?? "");
      return;
    }
    const { query, variables } = JSON.parse(body);
    this.requests.push({ headers: request.headers, kind: query.match(/addComment|updateIssueComment|comments/)[0] });
    const answer = request.headers.authorization === "bearer ghs_0123456789abcdefTOKEN" ? this.#data(query, variables) : null;
    response.writeHead(answer ? 200 : 401, { "content-type": "application/json" }).end(JSON.stringify(answer ?? { message: "Bad credentials" }));
  }

  #data(query, { number, before, subject, id, body }) {
    if (query.startsWith("query")) {
      if (number !== 7) return { data: { viewer: { login: "github-actions[bot]" }, repository: { pullRequest: null } } };
      const end = before === null ? this.comments.length : Number(before);
      const start = Math.max(end - 100, 0);
      const comments = { nodes: this.comments.slice(start, end), pageInfo: { hasPreviousPage: start > 0, startCursor: String(start) } };
      return { data: { viewer: { login: "github-actions[bot]" }, repository: { pullRequest: { id: "PR_7", comments } } } };
    }
    if (this.isReadOnly) return { data: null, errors: [{ type: "FORBIDDEN", message: "Resource not accessible by integration" }] };
    if ([...body].length > 65_536) return { data: null, errors: [{ type: "UNPROCESSABLE", message: "Body is too long" }] };
    if (query.includes("addComment")) {
      if (subject !== "PR_7") throw new Error(`a comment on ${subject}`);
      const comment = this.add("github-actions", body, "Bot");
      return { data: { addComment: { commentEdge: { node: { url: comment.url } } } } };
    }
    const comment = this.comments.find((comment) => comment.id === id);
    comment.body = body;
    return { data: { updateIssueComment: { issueComment: { url: comment.url } } } };
  }

  add(login, body, type = "User") {
    const number = this.comments.length + 1;
    const comment = { id: `IC_${number}`, url: `https://github.example/pull/7#issuecomment-${number}`, body, author: login && { __typename: type, login } };
    this.comments.push(comment);
    return comment;
  }
}
