// Keys for going through many entries. Everything that they do, a link or a button does too.

const OFF = "catmem-keys";
const list = document.getElementById("keys");
const opener = document.querySelector("[data-shows='keys']");
const switched = list.querySelector("[name='keys']");
const announced = document.getElementById("keys-announced");
const ENTRY = "article, .pair-conflict";
const ACTIONS = { o: "open", v: "verify", e: "edit", x: "expire", t: "tick", a: "approve", u: "undo" };

function remembered() {
  try {
    return localStorage.getItem(OFF) !== "off";
  } catch {
    return true; // a browser that keeps nothing
  }
}

function remember(on) {
  try {
    if (on) localStorage.removeItem(OFF);
    else localStorage.setItem(OFF, "off");
  } catch {
    // It holds for this page, then.
  }
}

// Said aloud by screen readers, and shown at the foot of the window for a while.
let silence;
function say(words) {
  announced.textContent = words;
  clearTimeout(silence);
  silence = setTimeout(() => { announced.textContent = ""; }, 4000);
}

function current() {
  return document.activeElement?.closest(ENTRY) ?? null;
}

function isShown(element) {
  return element.getClientRects().length > 0;
}

function step(by) {
  const entries = [...document.querySelectorAll(ENTRY)].filter(isShown);
  if (!entries.length) return say("No entries are on this page.");
  const here = entries.indexOf(current());
  let place = here + by;
  if (here < 0) {
    // From where the person is: the first entry that is not above the window, or the last one before it.
    const next = entries.findIndex((each) => each.getBoundingClientRect().top >= 0);
    place = by > 0 ? next : (next < 0 ? entries.length : next) - 1;
    if (place < 0) place = by > 0 ? entries.length - 1 : 0;
  }
  if (place < 0 || place >= entries.length) return say(by > 0 ? "This is the last entry." : "This is the first entry.");
  const entry = entries[place];
  entry.tabIndex = -1;
  entry.focus({ preventScroll: true });
  entry.scrollIntoView({ block: entry.offsetHeight > innerHeight ? "start" : "nearest" });
}

// The control of the entry that has the focus; else the only one of the page, such as the undo of what was just done.
function act(key) {
  const entry = current();
  const own = entry?.querySelector(`[data-key="${key}"]`);
  const all = [...document.querySelectorAll(`[data-key="${key}"]`)].filter(isShown);
  const loose = all.filter((each) => !each.closest(ENTRY));
  const control = own ?? (loose.length === 1 ? loose[0] : null);
  if (control) control.click();
  else if (all.length) say(entry ? `This entry has nothing to ${ACTIONS[key]}.` : "Choose an entry first: j and k go from one to the next.");
  else say(`There is nothing to ${ACTIONS[key]} on this page.`);
}

function open() {
  if (!list.open) list.showModal();
}

function isTyping(target) {
  return target instanceof Element && target.closest("input:not([type='checkbox']), textarea, select, [contenteditable]") !== null;
}

document.addEventListener("keydown", (event) => {
  if (event.defaultPrevented || event.isComposing || event.ctrlKey || event.altKey || event.metaKey) return;
  if (list.open || !switched.checked || isTyping(event.target)) return;
  const isOnEntry = event.key === "Enter" && event.target.matches(ENTRY); // Enter on a link or button is theirs
  const key = isOnEntry ? "o" : event.shiftKey ? event.key : event.key.toLowerCase(); // Caps Lock changes nothing
  if (key === "j" || key === "k") step(key === "j" ? 1 : -1);
  else if (key === "/") document.getElementById("find")?.focus();
  else if (key === "?") open();
  else if (Object.hasOwn(ACTIONS, key)) {
    if (!event.repeat) act(key);
  } else return;
  event.preventDefault();
});

// What was just done stays at the top of the window: nothing that has the focus may be below it.
const done = document.querySelector(".note-done");
function clear() {
  document.documentElement.style.scrollPaddingTop = `${done.offsetHeight + 8}px`;
  current()?.scrollIntoView({ block: "nearest" });
}
if (done) {
  clear();
  addEventListener("resize", clear);
}

switched.checked = remembered();
switched.addEventListener("change", () => remember(switched.checked));
opener.addEventListener("click", open);
list.addEventListener("click", (event) => {
  if (event.target === list) list.close(); // beside it
});
opener.hidden = false;
