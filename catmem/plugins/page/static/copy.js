// A button that copies the text behind a link. Without a clipboard it stays hidden, and the link shows the text.

const WHILE = 3000; // milliseconds for which the button says how it went

for (const button of document.querySelectorAll("[data-copies]")) {
  const link = document.getElementById(button.dataset.copies);
  const says = button.textContent;
  button.hidden = !navigator.clipboard;
  button.setAttribute("aria-live", "polite");
  button.addEventListener("click", async () => {
    try {
      const answer = await fetch(`${location.origin}${link.pathname}${link.search}`, { headers: { Accept: "text/plain" } });
      if (!answer.ok) throw new Error(answer.statusText);
      await navigator.clipboard.writeText(await answer.text());
      button.textContent = "Copied";
    } catch {
      button.textContent = "Not copied: open it as plain text";
    }
    setTimeout(() => { button.textContent = says; }, WHILE);
  });
}
