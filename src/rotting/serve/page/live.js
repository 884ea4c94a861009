// Keeps a page up to date: once a second the page is asked for again, and if it has changed, its parts that carry an id
// and the class "live" are replaced. Without this script, the page is as it was when loaded.
"use strict";

(() => {
  const main = document.querySelector("main[data-live]");
  if (!main) return;

  let paused = false, tag = "";
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
  });
  show();

  // What somebody is using, by keyboard or hand, stays as it is.
  const inUse = (part) => part.contains(document.activeElement);

  async function update() {
    try {
      const reply = await fetch(location.href, { headers: { Accept: "text/html", "If-None-Match": tag } });
      if (reply.redirected || reply.status === 401) { location.reload(); return; }
      if (reply.status !== 304) {
        if (!reply.ok) throw new Error(reply.statusText);
        tag = reply.headers.get("ETag");
        replace(new DOMParser().parseFromString(await reply.text(), "text/html"));
      }
      say("Live.");
    } catch {
      say("The server does not answer: trying again.");
    }
  }

  function replace(fresh) {
    for (const old of main.querySelectorAll(".live[id]")) {
      const part = fresh.getElementById(old.id);
      if (!part || inUse(old) || old.innerHTML === part.innerHTML) continue;
      const open = [...old.querySelectorAll("details[open]")].map((each) => each.id);
      old.replaceWith(part);
      for (const id of open) document.getElementById(id)?.setAttribute("open", "");
    }
  }

  async function keep() {
    if (!paused && !document.hidden) await update();
    setTimeout(keep, 1000);
  }
  keep();
})();
