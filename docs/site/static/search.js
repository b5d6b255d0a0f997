// Searches the index that the generator wrote. The index is loaded when somebody begins to search, as a script, so that
// it also works in pages opened from a disk.
"use strict";
(() => {
  const root = document.currentScript.dataset.root;
  const form = document.querySelector("form.search");
  const input = document.getElementById("search-field");
  const list = document.getElementById("results");
  const kMost = 12;
  let selected = -1;

  const load = () => new Promise((resolve, reject) => {
    if (window.searchIndex) return resolve(window.searchIndex);
    const script = document.createElement("script");
    script.src = `${root}search_index.js`;
    script.onload = () => resolve(window.searchIndex);
    script.onerror = reject;
    document.head.append(script);
  });

  const literally = word => word.replace(/[.*+?^${}()|[\]\\]/g, "\\$&");

  // Every word must begin a word of the entry. Headings and titles weigh more than text, whole words more than beginnings.
  const rank = (entry, words, phrase) => {
    const [, part, page, heading, text, ideas = ""] = entry;
    let score = 0;
    for (const word of words) {
      const begins = new RegExp(`(^|[^\\p{L}\\p{N}])${literally(word)}`, "iu");
      const isWhole = new RegExp(`(^|[^\\p{L}\\p{N}_])${literally(word)}($|[^\\p{L}\\p{N}_])`, "iu");
      if (isWhole.test(heading || page)) score += 6;
      const inHeading = begins.test(heading), inPage = begins.test(page), inText = begins.test(text), inIdeas = begins.test(ideas);
      if (!inHeading && !inPage && !inText && !inIdeas) return 0;
      score += (inIdeas ? 14 : 0) + (inHeading ? 8 : 0) + (inPage ? (heading ? 2 : 9) : 0) + (inText ? 2 : 0);
    }
    if (heading.toLowerCase() === phrase || page.toLowerCase() === phrase) score += 12;
    if (text.toLowerCase().includes(phrase)) score += 3;
    return score * ({ Glossary: 1.5, Chapters: 1.5, Guides: 1.2, Start: 1.2, Reference: heading.toLowerCase() === phrase ? 1.6 : .9 }[part] ?? 1);
  };

  const snippet = (text, words) => {
    const at = Math.max(0, text.toLowerCase().indexOf(words[0]));
    const begin = at < 50 ? 0 : text.indexOf(" ", at - 50) + 1;
    return (begin ? "…" : "") + text.slice(begin, begin + 150) + (begin + 150 < text.length ? "…" : "");
  };

  const marked = (text, words) => {
    const box = document.createElement("span");
    const pattern = new RegExp(`(${words.map(literally).join("|")})`, "gi");
    text.split(pattern).forEach((piece, i) => {
      const element = i % 2 ? document.createElement("mark") : document.createTextNode("");
      element.textContent = piece;
      box.append(element);
    });
    return box;
  };

  const element = (name, ...children) => {
    const made = document.createElement(name);
    made.append(...children);
    return made;
  };

  const show = (entries, words) => {
    selected = -1;
    list.replaceChildren(...entries.map(([address, part, page, heading, text, ideas = ""], i) => {
      const said = ideas && !text.toLowerCase().includes(words[0]) ? ideas : text;
      const link = element("a", element("b", marked(heading || page, words)),
        element("small", heading ? `${part} · ${page}` : part), element("small", marked(snippet(said, words), words)));
      link.href = root + address;
      link.id = `result-${i}`;
      link.setAttribute("role", "option");
      return link;
    }));
    if (!entries.length) list.append(element("p", "Nothing found. Try one word less."));
    setOpen(true);
  };

  const setOpen = open => {
    list.hidden = !open;
    input.setAttribute("aria-expanded", String(open));
    if (!open) input.removeAttribute("aria-activedescendant");
  };

  const select = index => {
    const options = list.querySelectorAll("a");
    if (!options.length) return;
    options[selected]?.removeAttribute("aria-selected");
    selected = (index + options.length) % options.length;
    options[selected].setAttribute("aria-selected", "true");
    options[selected].scrollIntoView({ block: "nearest" });
    input.setAttribute("aria-activedescendant", options[selected].id);
  };

  const search = async () => {
    const phrase = input.value.trim().toLowerCase();
    const words = phrase.split(/\s+/).filter(Boolean);
    if (!words.length || phrase.length < 2) return setOpen(false);
    const index = await load();
    if (phrase !== input.value.trim().toLowerCase()) return;  // somebody has typed on
    const found = index.map(entry => [rank(entry, words, phrase), entry]).filter(([score]) => score > 0);
    found.sort((a, b) => b[0] - a[0]);
    show(found.slice(0, kMost).map(([, entry]) => entry), words);
  };

  form.hidden = false;
  form.addEventListener("submit", event => {
    event.preventDefault();
    (list.querySelectorAll("a")[Math.max(0, selected)])?.click();
  });
  input.addEventListener("focus", load, { once: true });
  input.addEventListener("input", search);
  input.addEventListener("keydown", event => {
    if (event.key === "ArrowDown") { event.preventDefault(); select(selected + 1); }
    if (event.key === "ArrowUp") { event.preventDefault(); select(selected - 1); }
    if (event.key === "Escape") { setOpen(false); input.blur(); }
  });
  addEventListener("click", event => { if (!form.contains(event.target)) setOpen(false); });
  list.addEventListener("click", () => setOpen(false));
  addEventListener("keydown", event => {
    const isTyping = event.target.closest?.("input, textarea, select, [contenteditable]");
    if (event.key === "/" && !isTyping && !event.ctrlKey && !event.metaKey) { event.preventDefault(); input.focus(); }
  });
})();
