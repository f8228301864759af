// Tells when something on this page was changed meanwhile. It reloads nothing by itself, so you can go on typing.

const PLACES = 3; // streams of one browser, of the six connections that it gives to a server
const SETTLE = 300; // milliseconds: who only passes by needs no stream
const AGAIN = 30_000; // milliseconds after which a stream that was refused is asked for again
const MOST = 100; // entities of one page that are listened for

const notice = document.getElementById("live");
const shown = entitiesShown();
const changed = new Map();

// Each entity that the page shows, with the revisions or digests that it shows of it.
function entitiesShown() {
  const found = new Map();
  for (const part of document.querySelectorAll("[data-entity]")) {
    const seen = part.closest("[data-revision]")?.dataset.revision ?? "";
    const known = found.get(part.dataset.entity) ?? new Set();
    if (seen) known.add(seen);
    if (found.size < MOST || known.size) found.set(part.dataset.entity, known);
  }
  return found;
}

function hear(kind, data) {
  const seen = shown.get(data.entity_id);
  if (!seen || data.branch) return;
  if (seen.has(data.digest) || seen.has(data.revision) && kind === "revision") changed.delete(data.entity_id);
  else changed.set(data.entity_id, kind === "drift" ? "by another program" : `by ${plain(data.agent_id)}`);
  tell();
}

// Names come from files of any author.
function plain(text) {
  return String(text).replace(/\p{C}/gu, "?").slice(0, 80);
}

function tell() {
  const [first] = changed;
  if (!first) return notice.replaceChildren();
  const others = changed.size - 1;
  const what = others ? `${first[0]} and ${others} more were changed.` : `${first[0]} was changed ${first[1]}.`;
  say(what);
}

function say(what) {
  if (notice.firstChild?.textContent === what) return;
  const words = document.createElement("span");
  words.textContent = what;
  const parts = [words];
  // What was sent and refused stands on this page alone; sending it again tells what was changed.
  if (!document.querySelector("[data-unsaved]")) {
    const link = document.createElement("a");
    link.href = location.pathname + location.search;
    link.textContent = "Reload";
    parts.push(link);
  }
  const close = document.createElement("button");
  close.type = "button";
  close.textContent = "Not now";
  close.addEventListener("click", () => notice.replaceChildren());
  notice.replaceChildren(...parts, close);
}

// --- the stream ---

let listening = null;
let later;

function start(wait = SETTLE) {
  clearTimeout(later);
  if (document.hidden || listening || !shown.size) return;
  later = setTimeout(() => {
    listening = new AbortController();
    inPlace(listening.signal);
  }, wait);
}

function stop() {
  clearTimeout(later);
  listening?.abort();
  listening = null;
}

// Windows side by side share a few places: all others wait, so that no request of theirs has to.
async function inPlace(signal) {
  if (!navigator.locks) return listen(signal);
  for (let place = 0; place < PLACES; place += 1) {
    const held = await navigator.locks.request(`catmem-live-${place}`, { ifAvailable: true }, async (lock) => {
      if (lock) await listen(signal);
      return Boolean(lock);
    });
    if (held || signal.aborted) return;
  }
  const any = Math.floor(Math.random() * PLACES);
  try {
    await navigator.locks.request(`catmem-live-${any}`, { signal }, () => listen(signal));
  } catch (error) {
    if (error.name !== "AbortError") throw error;
  }
}

// Listens until it is stopped, or refused. What happened since the page was made, the stream begins with.
function listen(signal) {
  return new Promise((end) => {
    if (signal.aborted) return end();
    const names = [...shown].map(([entity, seen]) => (seen.size ? `${entity}@${[...seen].at(-1)}` : entity));
    const source = new EventSource(`/mem/events?${new URLSearchParams({ entity_id: names.join(",") })}`);
    for (const kind of ["revision", "drift"]) {
      source.addEventListener(kind, (event) => hear(kind, JSON.parse(event.data)));
    }
    source.addEventListener("missed", () => say("This page may be out of date."));
    source.addEventListener("error", () => {
      if (source.readyState !== EventSource.CLOSED) return; // it comes back by itself
      stop();
      start(AGAIN);
    });
    signal.addEventListener("abort", () => {
      source.close();
      end();
    });
  });
}

document.addEventListener("visibilitychange", () => (document.hidden ? stop() : start()));
addEventListener("pagehide", stop);
addEventListener("pageshow", () => start());
