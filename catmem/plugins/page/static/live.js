// Tells when something on this page was changed meanwhile. It reloads nothing by itself, so you can go on typing.

const EVERY = 4_000; // milliseconds between two looks of a visible page
const FIRST = 300; // milliseconds to the first look: who only passes by needs none
const MOST = 100; // entities of one page that are asked for

const notice = document.getElementById("live");
const shown = entitiesShown();
const changed = new Map();
let away = ""; // what the person has put away

// Each entity that the page shows, with the revisions or digests that it shows of it.
function entitiesShown() {
  const found = new Map();
  for (const part of document.querySelectorAll("[data-entity]")) {
    const seen = part.closest("[data-revision]")?.dataset.revision;
    if (!seen || found.size === MOST && !found.has(part.dataset.entity)) continue;
    found.set(part.dataset.entity, (found.get(part.dataset.entity) ?? new Set()).add(seen));
  }
  return found;
}

// What became of an entity: the newest of what the answer says of it.
function hear(data) {
  const seen = shown.get(data.entity_id);
  if (!seen || data.branch || !["revision", "drift"].includes(data.event)) return;
  if (seen.has(data.digest) || seen.has(data.revision) && data.event === "revision") changed.delete(data.entity_id);
  else changed.set(data.entity_id, data.event === "revision" ? `by ${plain(data.agent_id)}` : "by another program");
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
  if (what === away || notice.firstChild?.textContent === what) return;
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
  close.addEventListener("click", () => {
    away = what;
    notice.replaceChildren();
  });
  notice.replaceChildren(...parts, close);
}

// --- looking again ---

let later;

function start(wait = FIRST) {
  clearTimeout(later);
  if (!document.hidden && shown.size) later = setTimeout(look, wait);
}

// Asks with what the page shows, so an answer says how that stands now, whatever came before.
async function look() {
  const names = [...shown].map(([entity, seen]) => `${entity}@${[...seen].at(-1)}`);
  try {
    // An address without the name and the token that the page itself may have been opened with: such a one is not fetched.
    const answer = await fetch(`${location.origin}/mem/changes?${new URLSearchParams({ since: names.join(",") })}`);
    if (answer.ok) {
      changed.clear();
      (await answer.json()).changes.forEach(hear);
      tell();
    }
  } catch {
    // The server may be away for a while.
  }
  start(EVERY);
}

document.addEventListener("visibilitychange", () => (document.hidden ? clearTimeout(later) : start()));
addEventListener("pagehide", () => clearTimeout(later));
addEventListener("pageshow", () => start());
