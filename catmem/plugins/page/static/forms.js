// What a person typed is not lost by accident, and a form is sent once.

const AGAIN = 10_000; // milliseconds after which a form that led nowhere can be sent again

const forms = () => [...document.querySelectorAll("form[method='post']")];

// Changed since the page came, or kept from an answer that refused it (data-unsaved): only this page has it.
function isChanged(form) {
  return form.hasAttribute("data-unsaved") || [...form.elements].some((field) => {
    if (field.type === "hidden") return false;
    if (field instanceof HTMLSelectElement) {
      const usual = [...field.options].findIndex((each) => each.defaultSelected);
      return field.selectedIndex !== Math.max(usual, 0);
    }
    if (field.type === "checkbox" || field.type === "radio") return field.checked !== field.defaultChecked;
    return (field instanceof HTMLInputElement || field instanceof HTMLTextAreaElement) && field.value !== field.defaultValue;
  });
}

let sent = null;

function ask(event) {
  if (forms().some((form) => form !== sent && isChanged(form))) event.preventDefault();
}

// A page that always listened would not be kept for the way back.
function watch() {
  if (forms().some(isChanged)) addEventListener("beforeunload", ask);
  else removeEventListener("beforeunload", ask);
}

function release(form) {
  for (const button of form.querySelectorAll("button[data-sent]")) {
    button.disabled = false;
    delete button.dataset.sent;
  }
  if (sent === form) sent = null;
}

// "Back, without saving" means what it says; in another tab it leaves nothing.
document.addEventListener("click", (event) => {
  if (event.ctrlKey || event.metaKey || event.shiftKey) return;
  if (event.target.closest("[data-gives-up]")) removeEventListener("beforeunload", ask);
});
// Who chooses something in a row means that row.
function means({ target }) {
  const box = target.closest("[data-ticks]")?.querySelector("input[type='checkbox']");
  if (box && box !== target) box.checked = true;
}
document.addEventListener("input", means);
document.addEventListener("change", means);
document.addEventListener("input", watch);
document.addEventListener("change", watch);
document.addEventListener("submit", (event) => {
  const form = event.target;
  if (event.defaultPrevented || form.method !== "post") return;
  if (sent === form) {
    event.preventDefault();
    return;
  }
  sent = form;
  const others = forms().some((each) => each !== form && isChanged(each));
  // After this event, so that the button that was used is sent along; and not where the person may still say no.
  setTimeout(() => {
    for (const button of others ? [] : form.querySelectorAll("button:not([disabled])")) {
      button.disabled = true;
      button.dataset.sent = "";
    }
  });
  setTimeout(() => release(form), others ? 0 : AGAIN);
});
addEventListener("pageshow", (event) => {
  if (event.persisted) forms().forEach(release);
  watch();
});
watch();
