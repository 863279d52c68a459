// Optional features of a page: copy buttons, and the key `/` for the search. Everything else works without this file.
"use strict";
document.addEventListener("keydown", (event) => {
  const isTyping = event.target instanceof HTMLElement && event.target.matches("input, textarea, select");
  if (event.key === "/" && !isTyping && !event.ctrlKey && !event.metaKey && !event.altKey) {
    const box = document.querySelector("main input[type=search]") || document.querySelector("input[type=search]");
    if (box) {
      event.preventDefault();
      box.focus();
      box.select();
    }
  }
});
for (const block of document.querySelectorAll("[data-copy]")) {
  const button = document.createElement("button");
  button.type = "button";
  button.className = "quiet small no-print";
  button.textContent = "Copy";
  button.addEventListener("click", async () => {
    try {
      await navigator.clipboard.writeText(block.textContent);
      button.textContent = "Copied";
    } catch {
      button.textContent = "Press ctrl-c";
      getSelection().selectAllChildren(block);
    }
    setTimeout(() => { button.textContent = "Copy"; }, 2000);
  });
  block.after(button);
}
for (const form of document.querySelectorAll("form[data-try]")) {
  form.addEventListener("submit", async (event) => {
    event.preventDefault();
    const shown = form.parentElement.querySelector("[data-answer]");
    const key = form.querySelector("[name=key]");
    let path = form.dataset.try;
    const query = new URLSearchParams();
    for (const field of form.querySelectorAll("[data-in]")) {
      if (field.dataset.in === "path") {
        path = path.replace(`{${field.name}}`, encodeURIComponent(field.value));
      } else if (field.dataset.in === "query" && field.value.trim() !== "") {
        query.set(field.name, field.value);
      }
    }
    const body = form.querySelector("[data-in=body]");
    const url = query.size > 0 ? `${path}?${query}` : path;
    const headers = key && key.value.trim() ? { "X-API-Key": key.value.trim() } : {};
    if (body) headers["Content-Type"] = "application/json";
    shown.hidden = false;
    shown.textContent = `${form.dataset.method} ${url}\n…`;
    try {
      const answer = await fetch(url, { method: form.dataset.method, headers, body: body ? body.value : undefined });
      const text = await answer.text();
      let written = text;
      try { written = JSON.stringify(JSON.parse(text), null, 2); } catch { /* Keeps CSV and other formats unchanged. */ }
      const most = 60000;
      shown.textContent = `${form.dataset.method} ${url}\n${answer.status} ${answer.statusText}\n\n${written.slice(0, most)}${written.length > most ? "\n… cut here" : ""}`;
    } catch (error) {
      shown.textContent = `${form.dataset.method} ${url}\n${error}`;
    }
  });
}
