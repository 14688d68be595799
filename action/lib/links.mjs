// What the summary and the comment have in common.

import { given } from "./runner.mjs";

/** A row of links to what was uploaded; empty if there is none. `more`: further links. */
export function links(more = []) {
  const all = [["Page of the session", given("PAGE_URL")], ["What was masked", given("MASKED_URL")], ...more];
  const found = all.filter(([, url]) => /^https?:\/\/[^\s()<>]+$/.test(url));
  return found.map(([text, url]) => `[${text}](${url})`).join(" · ");
}

/** The last row of a text that is cut. */
export function note() {
  const page = links().split(" · ")[0];
  return page.startsWith("[Page")
    ? `*This is cut here, because the service limits its length. All of it: ${page}.*\n`
    : "*This is cut here, because the service limits its length. The log of the job has all of it.*\n";
}
