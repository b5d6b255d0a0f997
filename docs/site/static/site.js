// Light and dark, the drawer, the copy buttons, the contents that follow, and marked lines. Every page reads without it.
"use strict";
(() => {
  const root = document.documentElement;

  const theme = document.querySelector("button.theme");
  const isDark = () => root.dataset.theme ? root.dataset.theme === "dark"
    : matchMedia("(prefers-color-scheme: dark)").matches;
  theme.hidden = false;
  theme.addEventListener("click", () => {
    root.dataset.theme = isDark() ? "light" : "dark";
    try { localStorage.setItem("theme", root.dataset.theme); } catch { /* a page from disk may not store */ }
  });

  const menu = document.querySelector(".top .menu");
  const book = document.getElementById("book");
  const setOpen = open => {
    book.classList.toggle("open", open);
    menu.setAttribute("aria-expanded", String(open));
    if (open) book.querySelector("[aria-current], summary").focus();
  };
  menu.setAttribute("role", "button");
  menu.addEventListener("click", event => { event.preventDefault(); setOpen(!book.classList.contains("open")); });
  menu.addEventListener("keydown", event => { if (event.key === " ") { event.preventDefault(); menu.click(); } });
  addEventListener("keydown", event => {
    if (event.key === "Escape" && book.classList.contains("open")) { setOpen(false); menu.focus(); }
  });
  // The place in the book, without scrolling the page.
  const current = book.querySelector("[aria-current]");
  if (current) book.scrollTop = current.offsetTop - book.clientHeight / 3;

  // Of a terminal, only what was typed.
  const textOf = block => block.classList.contains("session")
    ? [...block.querySelectorAll(".command")].map(part => part.textContent).join("\n")
    : block.querySelector("code").textContent;
  for (const block of document.querySelectorAll(".code:not(.file, .signature)")) {
    const button = document.createElement("button");
    button.className = "copy";
    button.type = "button";
    button.textContent = "Copy";
    button.addEventListener("click", async () => {
      try {
        await navigator.clipboard.writeText(textOf(block));
        button.textContent = "Copied";
      } catch {
        getSelection().selectAllChildren(block.querySelector("code"));
        button.textContent = "Press Ctrl-C";
      }
      setTimeout(() => { button.textContent = "Copy"; }, 1600);
    });
    block.append(button);
  }

  const links = new Map([...document.querySelectorAll(".contents a")].map(link => [link.hash.slice(1), link]));
  const headings = [...links.keys()].map(id => document.getElementById(decodeURIComponent(id))).filter(Boolean);
  const follow = () => {
    let here = headings[0];
    for (const heading of headings) if (heading.getBoundingClientRect().top < 140) here = heading;
    for (const link of links.values()) link.classList.toggle("here", here && link.hash === `#${here.id}`);
  };
  if (headings.length) { addEventListener("scroll", follow, { passive: true }); follow(); }

  // #L40-L78 marks these lines; a shift-click on a second number makes such a range.
  const mark = () => {
    for (const row of document.querySelectorAll(".row.marked")) row.classList.remove("marked");
    const range = /^#L(\d+)(?:-L(\d+))?$/.exec(location.hash);
    if (!range) return;
    const first = Number(range[1]), last = Number(range[2] ?? range[1]);
    for (let line = first; line <= last; ++line) document.getElementById(`L${line}`)?.classList.add("marked");
    document.getElementById(`L${first}`)?.scrollIntoView({ block: last - first > 20 ? "start" : "center" });
  };
  const file = document.querySelector(".code.file");
  if (file) {
    addEventListener("hashchange", mark);
    mark();
    file.addEventListener("click", event => {
      const begin = /^#L(\d+)/.exec(location.hash);
      if (!event.shiftKey || !event.target.matches(".at") || !begin) return;
      event.preventDefault();
      const lines = [Number(begin[1]), Number(event.target.textContent)].sort((a, b) => a - b);
      history.replaceState(null, "", `#L${lines[0]}-L${lines[1]}`);
      mark();
    });
  }

  // A link into a folded answer unfolds it.
  const unfold = () => {
    const target = location.hash && document.getElementById(decodeURIComponent(location.hash.slice(1)));
    for (let block = target && target.closest("details"); block; block = block.parentElement.closest("details")) block.open = true;
  };
  addEventListener("hashchange", unfold);
  unfold();
})();
