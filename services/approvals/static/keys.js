// j and k move between the proposals, o opens one. No key decides. The keys can be turned off, and are off while something is typed.
"use strict";
(() => {
  const links = [...document.querySelectorAll("a.open")];
  const place = document.getElementById("keys");
  if (!links.length || !place) return;
  let on = localStorage.getItem("keys") !== "off";
  let at = -1;
  const toggle = document.createElement("button");
  toggle.type = "button";
  toggle.className = "quiet";
  const show = () => { toggle.textContent = on ? "Turn off the keys j, k and o" : "Turn on the keys j, k and o"; };
  toggle.addEventListener("click", () => { on = !on; localStorage.setItem("keys", on ? "on" : "off"); show(); });
  show();
  place.append(toggle);
  document.addEventListener("keydown", (event) => {
    const typing = event.target instanceof HTMLElement && event.target.matches("textarea, select, input:not([type=checkbox])");
    if (!on || typing || event.ctrlKey || event.metaKey || event.altKey) return;
    if (event.key === "j") at = Math.min(at + 1, links.length - 1);
    else if (event.key === "k") at = Math.max(at - 1, 0);
    else if (event.key === "o" && at >= 0) { links[at].click(); return; }
    else return;
    links[at].focus();
  });
})();
