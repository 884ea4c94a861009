// Keeps a page up to date: whenever the server says that something has changed, the page is fetched again and its
// parts that carry an id and the class "live" are replaced. Without this script, the page is as it was when loaded.
"use strict";

(() => {
  const main = document.querySelector("main[data-stream]");
  if (!main || !window.EventSource) return;

  let paused = false, busy = false, again = false;
  const bar = document.createElement("p");
  bar.className = "row soft";
  const state = document.createElement("span");
  state.setAttribute("role", "status");
  const button = document.createElement("button");
  button.className = "quiet";
  bar.append(state, button);
  main.prepend(bar);

  const say = (text) => { if (state.textContent !== text) state.textContent = text; };
  const show = () => { button.textContent = paused ? "Resume updates" : "Pause updates"; };
  button.addEventListener("click", () => {
    paused = !paused;
    show();
    say(paused ? "Paused." : "Live.");
    if (!paused) update();
  });
  show();

  // Somebody who is typing, or has opened a table, keeps what they have.
  const inUse = (part) => part.contains(document.activeElement) && document.activeElement.matches("input, summary");

  async function update() {
    if (paused || document.hidden) { again = true; return; }
    if (busy) { again = true; return; }
    busy = true;
    again = false;
    try {
      const reply = await fetch(location.href, { headers: { Accept: "text/html" } });
      if (reply.redirected || reply.status === 401) { location.reload(); return; }
      if (!reply.ok) throw new Error(reply.statusText);
      const fresh = new DOMParser().parseFromString(await reply.text(), "text/html");
      for (const old of main.querySelectorAll(".live[id]")) {
        const part = fresh.getElementById(old.id);
        if (!part || inUse(old) || old.innerHTML === part.innerHTML) continue;
        const open = [...old.querySelectorAll("details[open]")].map((each) => each.id);
        const focused = old.contains(document.activeElement) ? document.activeElement.id : "";
        old.replaceWith(part);
        for (const id of open) document.getElementById(id)?.setAttribute("open", "");
        if (focused) document.getElementById(focused)?.focus();
      }
      say("Live.");
    } catch {
      say("The server does not answer.");
    } finally {
      busy = false;
    }
    if (again) setTimeout(update, 1000);
  }

  const source = new EventSource(main.dataset.stream);
  source.addEventListener("open", () => say("Live."));
  source.addEventListener("changed", update);
  source.addEventListener("error", () => say("Not connected: trying again."));
  document.addEventListener("visibilitychange", () => { if (!document.hidden && again) update(); });
})();
