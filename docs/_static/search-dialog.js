// The search's dialog: Ctrl K or / opens it, arrows choose, Enter goes there. It sends nothing anywhere.
(() => {
  const opener = document.querySelector(".search-open");
  if (!opener) return;
  const root = document.documentElement.dataset.content_root ?? "";
  const ORDER = ["Guides", "Operate", "Reference", "Design and proof"];
  const EACH = 5;
  let index = null;
  let dialog = null;

  const element = (tag, values = {}, ...children) => {
    const made = Object.assign(document.createElement(tag), values);
    made.append(...children);
    return made;
  };

  function load() {
    if (globalThis.ojsSearchIndex) return Promise.resolve();
    return new Promise((done, failed) => {
      document.head.append(element("script", { src: opener.dataset.searchIndex, onload: done, onerror: failed }));
    });
  }

  function marked(text, asked) {
    const stems = new Set(asked.flat().map(([term]) => term));
    return text.split(/([A-Za-z0-9]+)/).map((part) =>
      stems.has(globalThis.ojsSearch.stem(part.toLowerCase())) ? element("mark", {}, part) : part);
  }

  function excerpt(text, asked) {
    const stems = new Set(asked.flat().map(([term]) => term));
    const found = [...text.matchAll(/[A-Za-z0-9]+/g)].find(([word]) => stems.has(globalThis.ojsSearch.stem(word.toLowerCase())));
    const from = found ? Math.max(0, text.lastIndexOf(" ", Math.max(0, found.index - 50))) : 0;
    return (from ? "… " : "") + text.slice(from, from + 150).trim();
  }

  function line(hit, asked) {
    const { section } = hit;
    const heading = section && section.anchor ? [" › ", ...marked(section.heading, asked)] : [];
    const href = `${root}${hit.name}.html${section?.anchor ? `#${section.anchor}` : ""}`;
    return element("a", { href },
      element("strong", {}, ...marked(hit.title, asked), ...heading),
      element("p", {}, ...marked(excerpt(section?.text ?? "", asked), asked)));
  }

  function show() {
    const results = dialog.querySelector(".search-results");
    const question = dialog.querySelector("input").value.trim();
    results.replaceChildren();
    if (!index || !question) {
      results.append(element("div", { className: "search-note" }, "Ask a question, or name a class, a command or a setting."));
      return;
    }
    const asked = globalThis.ojsSearch.wanted(question);
    const hits = globalThis.ojsSearch.search(index, question).slice(0, 40);
    const groups = Map.groupBy
      ? Map.groupBy(hits, (hit) => (hit.group === "Decisions" ? "Design and proof" : hit.group))
      : hits.reduce((map, hit) => {
          const name = hit.group === "Decisions" ? "Design and proof" : hit.group;
          return map.set(name, [...(map.get(name) ?? []), hit]);
        }, new Map());
    const names = [...groups.keys()].sort((one, other) =>
      groups.get(other)[0].score - groups.get(one)[0].score || ORDER.indexOf(one) - ORDER.indexOf(other));
    for (const name of names) {
      results.append(element("h2", {}, name), ...groups.get(name).slice(0, EACH).map((hit) => line(hit, asked)));
    }
    if (!hits.length) results.append(element("div", { className: "search-note" }, `No page has any of the words of “${question}”.`));
    choose(results.querySelector("a"));
  }

  function choose(link) {
    const old = dialog.querySelector('a[data-chosen]');
    if (old) old.removeAttribute("data-chosen");
    if (!link) return;
    link.setAttribute("data-chosen", "");
    link.scrollIntoView({ block: "nearest" });
  }

  function press(event) {
    const links = [...dialog.querySelectorAll(".search-results a")];
    const at = links.findIndex((link) => link.hasAttribute("data-chosen"));
    if (event.key === "ArrowDown" || event.key === "ArrowUp") {
      event.preventDefault();
      choose(links[(at + (event.key === "ArrowDown" ? 1 : links.length - 1)) % links.length]);
    } else if (event.key === "Enter") {
      event.preventDefault();
      if (links[at]) { dialog.close(); location.href = links[at].href; }
    }
  }

  function build() {
    const input = element("input", { type: "search", placeholder: "Search", autocomplete: "off", spellcheck: false });
    input.setAttribute("aria-label", "Search these pages");
    const results = element("div", { className: "search-results", role: "region" });
    results.setAttribute("aria-label", "Results");
    dialog = element("dialog", { className: "search-dialog" },
      element("form", { method: "dialog" }, input, element("button", {}, "Close")), results,
      element("div", { className: "search-keys" }, "↑ ↓ choose", element("span", {}, "Enter open"), element("span", {}, "Esc close")));
    dialog.setAttribute("aria-label", "Search");
    input.addEventListener("input", show);
    dialog.addEventListener("keydown", press);
    dialog.addEventListener("click", (event) => { if (event.target === dialog) dialog.close(); });
    results.addEventListener("click", (event) => { if (event.target.closest("a")) dialog.close(); });
    document.body.append(dialog);
  }

  async function open(question = "") {
    if (!dialog) build();
    if (!dialog.open) dialog.showModal();
    const input = dialog.querySelector("input");
    if (question) input.value = question;
    input.focus();
    show();
    if (!index) {
      try {
        await load();
        index = globalThis.ojsSearch.prepare(globalThis.ojsSearchIndex);
      } catch {
        dialog.querySelector(".search-note").textContent = "The index of the search could not be loaded.";
        return;
      }
      show();
    }
  }

  // On a phone the other one is in the folded menu.
  const inBar = element("a", { className: "search-open search-in-bar", href: opener.href }, "Search");
  document.querySelector(".sy-head-actions")?.prepend(inBar);
  for (const each of [opener, inBar]) {
    each.addEventListener("click", (event) => {
      if (event.ctrlKey || event.metaKey || event.shiftKey) return;
      event.preventDefault();
      open();
    });
  }
  document.addEventListener("keydown", (event) => {
    const typing = /^(INPUT|TEXTAREA|SELECT)$/.test(event.target.tagName);
    if ((event.key === "k" && (event.ctrlKey || event.metaKey)) || (event.key === "/" && !typing)) {
      event.preventDefault();
      open();
    }
  });
  if (document.getElementById("search-page")) open(new URLSearchParams(location.search).get("q") ?? "");
})();
