"use strict";
(() => {
  const { session, address, hash, profile } = document.body.dataset;
  const $ = (id) => document.getElementById(id);
  const base = document.currentScript.src.replace(/\/static\/.*$/, "");

  // --- Logging in again after a restart of the server
  const { tab, key } = document.body.dataset;
  // In memory only, so that it isn't saved with the page.
  delete document.body.dataset.key;
  const PATIENCE = 600000;
  const hex = (bytes) => [...new Uint8Array(bytes)].map((byte) => byte.toString(16).padStart(2, "0")).join("");
  const bytes = (text) => new TextEncoder().encode(text);
  const mac = async (...words) => {
    const secret = await crypto.subtle.importKey("raw", bytes(key), { name: "HMAC", hash: "SHA-256" }, false, ["sign"]);
    return hex(await crypto.subtle.sign("HMAC", secret, bytes(words.join("\n")))).slice(0, 32);
  };
  /** Whoever holds the port after the server ended gets no cookie: the server proves itself first. Fails if it doesn't answer. */
  const loggedIn = async () => {
    // Without the server's key, or where a page can't calculate with it, the cookie alone decides.
    if (!key || !globalThis.crypto?.subtle) return true;
    const nonce = hex(crypto.getRandomValues(new Uint8Array(16)));
    const first = await fetch(`${base}/tab?tab=${tab}&nonce=${nonce}`, { credentials: "omit", cache: "no-store" });
    if (first.status === 401) return false;
    if (!first.ok) throw new Error("not now");
    const { proof, challenge } = await first.json();
    if (proof !== await mac("server", nonce, location.host)) return false;
    const own = await mac("tab", challenge, location.host);
    return (await fetch(`${base}/tab?tab=${tab}&challenge=${challenge}&proof=${own}`, { cache: "no-store" })).ok;
  };
  /** Shows what is wrong with the connection; nothing if the text is empty. */
  const tellConnection = (text) => {
    let place = $("connection");
    if (!place) {
      place = Object.assign(document.createElement("p"), { id: "connection" });
      place.setAttribute("role", "status");
      document.querySelector("header").append(place);
    }
    place.hidden = !text;
    place.textContent = text;
    place.closest("header").classList.toggle("lost", !!text);
  };
  const LOGGED_OUT = "logged out: open the address that “streamfmt serve --link” prints, then reload this page";

  // --- Times: in the reader's zone, and running ones
  const two = (number) => String(number).padStart(2, "0");
  const lasted = (seconds) => {
    const [hours, minutes] = [Math.floor(seconds / 3600), Math.floor(seconds / 60) % 60];
    if (hours) return `${hours}h ${two(minutes)}m`;
    return minutes ? `${minutes}m ${two(seconds % 60)}s` : `${seconds}s`;
  };
  const since = (moment) => Math.max(0, Math.floor((Date.now() - moment) / 1000));
  const localize = (from) => {
    for (const time of from.querySelectorAll("time.when:not([title])")) {
      const at = new Date(time.dateTime);
      time.title = time.textContent;
      time.textContent = at.toLocaleString([], { dateStyle: "medium", timeStyle: "short" });
    }
  };
  const tick = () => {
    for (const time of document.querySelectorAll("time.since"))
      time.textContent = lasted(since(Date.parse(time.dateTime)));
  };
  localize(document);
  tick();
  setInterval(tick, 1000);

  // --- The list: filters and updates
  const filters = $("filters");
  if (filters) {
    let later;
    // Each part as the server last wrote it.
    const parts = new Map();
    const apply = () => {
      const wanted = new URLSearchParams(location.search);
      wanted.delete("page");
      for (const { name, value } of filters.querySelectorAll("input"))
        if (value.trim()) wanted.set(name, value.trim());
        else wanted.delete(name);
      if (wanted.toString() !== new URLSearchParams(location.search).toString())
        location.assign(`${filters.dataset.base}?${wanted}`);
    };
    filters.addEventListener("keydown", ({ key }) => key === "Enter" && apply());
    filters.addEventListener("change", apply);
    let gone = null;
    const renew = async () => {
      clearTimeout(later);
      if (gone && Date.now() - gone > PATIENCE) return tellConnection(LOGGED_OUT);
      later = setTimeout(renew, document.hidden ? 10000 : 3000);
      try {
        if (gone && !await loggedIn()) {
          clearTimeout(later);
          return tellConnection(LOGGED_OUT);
        }
        const answer = await fetch(location.href, { cache: "no-store" });
        if (!answer.ok) {
          gone ??= Date.now();
          return;
        }
        gone = null;
        tellConnection("");
        const fresh = new DOMParser().parseFromString(await answer.text(), "text/html");
        document.title = fresh.title;
        for (const old of document.querySelectorAll("[data-part]")) {
          const source = fresh.querySelector(`[data-part=${old.dataset.part}]`)?.innerHTML;
          if (source === undefined || source === parts.get(old) || old.contains(document.activeElement)) continue;
          parts.set(old, source);
          old.innerHTML = source;
          localize(old);
        }
        tick();
      } catch {
        // The server may come back.
        gone ??= Date.now();
      }
    };
    later = setTimeout(renew, 3000);
    document.addEventListener("visibilitychange", () => document.hidden || renew());
  }
  if (!session) return;

  // --- The page of a session
  const nodes = $("nodes");
  const status = $("status");
  const now = $("now");
  let revision = Number(document.body.dataset.revision);
  let isDone = "done" in document.body.dataset;
  const isOlder = "older" in document.body.dataset;

  // Nodes removed from the page because they are far away, by the id of the element in their place.
  const stored = new Map();
  const NEAR = 1500;
  const MOST = 700;
  const GROUP = 100;
  // Folds that the server opened, as of a call that waits for a person.
  const opened = new WeakSet(nodes.querySelectorAll("details[open]"));
  /** Elements of what the server wrote. A <noscript> is the text that it is in a page. */
  const built = (html) => {
    const box = document.createElement("div");
    box.innerHTML = html;
    box.querySelectorAll("details[open]").forEach((fold) => opened.add(fold));
    return box;
  };

  // --- Following the end, unless the reader scrolled up
  const follow = document.createElement("button");
  Object.assign(follow, { type: "button", id: "follow", hidden: true });
  document.body.append(follow);
  const isRunning = () => !isDone && status.dataset.status.startsWith("running");
  let isPinned = isRunning() && !location.hash && !isOlder;
  let news = new Set();
  const bottom = () => document.documentElement.scrollHeight - innerHeight - scrollY;
  const last = () => nodes.lastElementChild;
  const toEnd = () => {
    const end = last();
    if (!end) return;
    // The end of the activity, not of the page.
    scrollTo({ top: end.getBoundingClientRect().bottom + scrollY - innerHeight + 48 });
  };
  const endIsSeen = () => !last() || last().getBoundingClientRect().bottom < innerHeight + 80;
  const tellNews = () => {
    follow.hidden = isPinned || !news.size;
    follow.textContent = news.size === 1 ? "1 new entry ↓" : `${news.size} new entries ↓`;
  };
  let ours = 0;
  // Only the reader's own scrolling unpins, not the growth of the page.
  for (const kind of ["wheel", "touchmove", "keydown", "mousedown"])
    addEventListener(kind, () => (ours = performance.now()), { passive: true });
  addEventListener("scroll", () => {
    if (performance.now() - ours > 1000) return;
    isPinned = !isDone && endIsSeen();
    if (endIsSeen()) news = new Set();
    tellNews();
  }, { passive: true });
  follow.addEventListener("click", () => {
    isPinned = true;
    news = new Set();
    tellNews();
    toEnd();
  });
  /** Changes the page without moving the line that the reader looks at. */
  const steadily = (change) => {
    const seen = isPinned ? null : [...nodes.children].find((node) => node.getBoundingClientRect().bottom > 0);
    const before = seen?.getBoundingClientRect().top;
    change();
    if (isPinned) toEnd();
    else if (seen?.isConnected) {
      const by = seen.getBoundingClientRect().top - before;
      if (Math.abs(by) > 1 && getComputedStyle(document.documentElement).overflowAnchor === "none") scrollBy(0, by);
      else if (Math.abs(by) > 1 && seen.getBoundingClientRect().top < 0) scrollBy(0, by);
    }
  };

  /** What a call needs from a person, in words, while the session runs. */
  const needed = () => isRunning() ? $("facts").querySelector("[data-waits]")?.textContent.trim() : undefined;

  // --- What runs now, and for how long
  let seen = Date.now();
  // When the log last grew.
  let grew = Date.parse(document.body.dataset.grown) || Date.now();
  const begun = new Map();
  const tellNow = () => {
    const waits = needed();
    now.classList.toggle("waits", Boolean(waits));
    if (waits) {
      now.textContent = waits;
      return;
    }
    const open = [...nodes.querySelectorAll(":scope > .n[data-open]")].pop();
    for (const id of begun.keys()) if (id !== open?.id) begun.delete(id);
    if (!isRunning()) {
      now.textContent = "";
      return;
    }
    if (!open) {
      const silent = since(grew);
      now.textContent = silent > 2 ? `nothing new for ${lasted(silent)}` : "";
      return;
    }
    if (!begun.has(open.id)) {
      const at = Date.parse(open.querySelector(".at > time")?.dateTime ?? "");
      begun.set(open.id, Number.isNaN(at) || Date.now() - at > 86400000 ? Date.now() : at);
    }
    const entry = open.querySelector(".e");
    const said = entry?.querySelector(":scope > details > summary > .t, :scope > .row > .t")?.textContent.trim();
    const kinds = { reply: "Writing", thinking: "Thinking" };
    const name = kinds[entry?.dataset.kind] || said || entry?.dataset.tool || "Working";
    now.textContent = `${name} · ${lasted(since(begun.get(open.id)))}`;
  };
  setInterval(tellNow, 1000);

  // --- Nodes far away leave the page
  const far = new IntersectionObserver((seen) => {
    for (const { isIntersecting, target } of seen) if (isIntersecting) bringBack(target);
  }, { rootMargin: `${NEAR}px 0px` });
  const bringBack = (gap) => {
    const html = stored.get(gap.id);
    if (html === undefined) return;
    stored.delete(gap.id);
    far.unobserve(gap);
    steadily(() => gap.replaceWith(...built(html).childNodes));
    grown();
  };
  let gaps = 0;
  const sendAway = () => {
    if (nodes.childElementCount < MOST) return;
    let group = [];
    for (const node of [...nodes.children]) {
      const isFar = node.classList.contains("n") && !node.matches("[data-open]") &&
        !node.contains(document.activeElement) && node.getBoundingClientRect().bottom < -2 * NEAR;
      if (isFar) group.push(node);
      if (group.length && (!isFar || group.length === GROUP)) {
        if (group.length === GROUP) leave(group);
        group = [];
        if (nodes.childElementCount < MOST / 2) return;
      }
    }
  };
  const leave = (group) => {
    const gap = document.createElement("div");
    const [first, end] = [group[0].getBoundingClientRect(), group[group.length - 1].getBoundingClientRect()];
    gap.className = "gap";
    gap.id = `gap-${(gaps += 1)}`;
    const sheet = new CSSStyleSheet();
    sheet.replaceSync(`#${gap.id} { height: ${Math.round(end.bottom - first.top)}px; }`);
    document.adoptedStyleSheets = [...document.adoptedStyleSheets, sheet];
    stored.set(gap.id, group.map((node) => node.outerHTML).join("\n"));
    group[0].before(gap);
    group.forEach((node) => node.remove());
    far.observe(gap);
  };
  /** The element of a node, also if it is away. */
  const find = (id) => {
    const found = $(id);
    if (found) return found;
    for (const [gap, html] of stored)
      if (html.includes(` id="${id}"`)) {
        const element = $(gap);
        if (element) bringBack(element);
        return $(id);
      }
    return null;
  };

  // --- Older ones
  const older = $("older");
  older?.addEventListener("click", async (event) => {
    const link = event.target.closest("a");
    if (!link || event.ctrlKey || event.metaKey || event.shiftKey) return;
    event.preventDefault();
    const answer = await fetch(link.href, { cache: "no-store" }).catch(() => null);
    if (!answer?.ok) return;
    const page = new DOMParser().parseFromString(await answer.text(), "text/html");
    const more = page.querySelector("#older a");
    const source = page.querySelector("#nodes").innerHTML;
    steadily(() => {
      const first = nodes.firstElementChild;
      first.before(...built(source).childNodes);
      if (more) link.href = more.getAttribute("href");
      else older.remove();
    });
    grown();
  });

  // --- What changes
  let isTold = false;
  const grown = () => {
    if (isTold) return;
    isTold = true;
    requestAnimationFrame(() => {
      isTold = false;
      document.dispatchEvent(new Event("grown"));
    });
  };
  const title = document.title.replace(/^[^·]*· /, "");
  const tellTitle = () => {
    document.title = `${needed()?.replace(/ · .*$/, "") ?? status.dataset.status} · ${title}`;
  };
  const tellStatus = (name) => {
    if (!name || name === status.dataset.status) return;
    status.dataset.status = name;
    const signs = { running: "●", done: "✓", failed: "✗", interrupted: "■" };
    const badge = document.createElement("span");
    badge.className = `status ${name}`;
    const sign = document.createElement("span");
    sign.setAttribute("aria-hidden", "true");
    sign.textContent = signs[name] ?? "";
    badge.append(sign, ` ${name}`);
    status.replaceChildren(badge);
    tellTitle();
  };
  /** Removes the rows of entries that this element contains, except the row `own`. */
  const replaceRows = (element, own) => {
    for (const { id } of element.querySelectorAll('[id^="e-"]')) {
      const row = id.replace("e-", "n-");
      if (row !== own) $(row)?.remove();
    }
  };
  const openFolds = (node) => [...node.querySelectorAll("details")].map((fold) => fold.open && !opened.has(fold));
  const handlers = {
    put({ id, before, after, html }) {
      const fresh = built(html).firstElementChild;
      if (!fresh) return;
      // Entries that had rows of their own are now part of this one.
      replaceRows(fresh, id);
      const old = find(id);
      if (old) {
        // Folds that the reader opened stay open.
        const were = openFolds(old);
        [...fresh.querySelectorAll("details")].forEach((fold, at) => {
          if (!were[at] || fold.open) return;
          const source = fold.querySelector(":scope > noscript");
          if (source) source.replaceWith(...built(source.textContent).childNodes);
          fold.open = true;
        });
        const hasFocus = old.contains(document.activeElement);
        old.replaceWith(fresh);
        if (hasFocus) fresh.querySelector(".e")?.focus({ preventScroll: true });
        return;
      }
      const previous = after && find(after);
      const next = !previous && before && find(before);
      // It belongs before the first node here, to the older ones, which are fetched on request.
      if (before && !next && !previous && older?.isConnected) return;
      if (previous) previous.after(fresh);
      else if (next) next.before(fresh);
      else nodes.append(fresh);
      if (!isPinned) news.add(id);
    },
    drop({ id }) {
      find(id)?.remove();
    },
    facts({ status: name, html, failure }) {
      $("facts").innerHTML = html;
      $("failure").innerHTML = failure ?? "";
      $("failure").hidden = !failure;
      localize($("facts"));
      tick();
      tellStatus(name);
      tellTitle();
      tellNow();
    },
    response({ html }) {
      let section = $("response");
      if (!section) {
        section = document.createElement("section");
        section.id = "response";
        section.setAttribute("aria-labelledby", "h-response");
        $("facts").after(section);
      }
      section.innerHTML = `<h2 id="h-response">Answer</h2>\n${html}`;
      replaceRows(section, "");
    },
    done() {
      tellNow();
      for (const node of nodes.querySelectorAll(".n[data-open]")) delete node.dataset.open;
      isPinned = false;
      tellNews();
    },
    resync() {
      location.reload();
    },
  };
  let waiting = [];
  const work = () => {
    const events = waiting;
    waiting = [];
    steadily(() => events.forEach(([name, data]) => handlers[name](data)));
    tellNow();
    tellNews();
    if (isPinned) sendAway();
    grown();
  };

  // --- The stream, while the page is seen
  let source = null;
  let lost = null;
  let isOut = false;
  const tellLost = () => {
    if (isOut) tellConnection(LOGGED_OUT);
    else tellConnection(lost && !isDone ? `disconnected since ${new Date(lost).toLocaleTimeString()}` : "");
  };
  const close = () => {
    source?.close();
    source = null;
  };
  const connect = () => {
    if (isDone || isOlder || source) return;
    const wanted = new URLSearchParams({ profile, since: revision, hash });
    const own = (source = new EventSource(`${address}/events?${wanted}`));
    own.onopen = () => {
      lost = null;
      tellLost();
    };
    own.onerror = () => {
      if (own !== source) return;
      lost ??= Date.now();
      tellLost();
      // The server may come back. The browser alone would send its cookie to whoever has the port.
      close();
      setTimeout(back, 1000);
    };
    for (const name of Object.keys(handlers))
      own.addEventListener(name, (event) => {
        seen = Date.now();
        // The server ends the stream after these, so the connection isn't lost.
        if (name === "done" || name === "resync") {
          isDone = name === "done";
          lost = null;
          close();
          tellLost();
        }
        const at = Number(event.lastEventId.split(":")[1]);
        if (at > revision) {
          revision = at;
          grew = Date.now();
        }
        if (!waiting.length) setTimeout(work, 16);
        waiting.push([name, JSON.parse(event.data)]);
      });
  };
  const back = async () => {
    if (isDone || isOut || source || document.hidden) return;
    try {
      isOut = Date.now() - (lost ?? Date.now()) > PATIENCE || !await loggedIn();
    } catch {
      setTimeout(back, 1000);
      return;
    }
    tellLost();
    if (!isOut) connect();
  };
  const ask = async () => {
    // A hidden page keeps no connection: a browser has only six for all its tabs.
    if (isOut) return;
    try {
      if (!await loggedIn()) return;
      const answer = await fetch(`${address}?profile=${profile}`, { cache: "no-store" });
      if (!answer.ok) return;
      const page = new DOMParser().parseFromString(await answer.text(), "text/html");
      tellStatus(page.getElementById("status")?.dataset.status);
    } catch { /* asked again */ }
  };
  let asking;
  document.addEventListener("visibilitychange", () => {
    clearInterval(asking);
    if (isDone || isOlder) return;
    if (document.hidden) {
      close();
      lost = Date.now();
      asking = setInterval(ask, 10000);
    } else {
      tellLost();
      back();
    }
  });
  // After the machine slept, the connection can be lost without an error.
  let beat = Date.now();
  setInterval(() => {
    const slept = Date.now() - beat > 5000;
    beat = Date.now();
    if (!slept || isDone || isOlder || document.hidden) return;
    lost ??= seen;
    tellLost();
    close();
    back();
  }, 1000);
  if (!document.hidden) connect();
  else if (!isDone) asking = setInterval(ask, 10000);
  if (isPinned) toEnd();
  tellNow();
  grown();
})();
