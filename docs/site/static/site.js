// Light and dark, panels, the drawer, the copy buttons, the contents that follow, and marked lines. Every page reads without it.
"use strict";
(() => {
  const root = document.documentElement;

  const theme = document.querySelector("button.theme");
  const isDark = () => root.dataset.theme ? root.dataset.theme === "dark"
    : matchMedia("(prefers-color-scheme: dark)").matches;
  theme.hidden = false;
  theme.addEventListener("click", () => {
    root.dataset.theme = isDark() ? "light" : "dark";
    frames.forEach(tellTheme);
    try { localStorage.setItem("theme", root.dataset.theme); } catch { /* a page from disk may not store */ }
  });

  // Panels. A frame lies unseen over its still picture until the panel has said how high it is. Messages, because pages
  // from disk may not look into their frames.
  const tellTheme = frame => frame.contentWindow.postMessage({ theme: isDark() ? "dark" : "light" }, "*");
  const frames = [...document.querySelectorAll(".panel[data-src]")].map(box => {
    const frame = document.createElement("iframe");
    const place = box.classList.contains("in-lesson") ? "lesson" : "page";
    frame.title = box.dataset.title;
    frame.loading = "lazy";
    frame.src = `${box.dataset.src}?in=${place}&theme=${isDark() ? "dark" : "light"}${place === "page" ? location.hash : ""}`;
    box.prepend(frame);
    return frame;
  });
  matchMedia("(prefers-color-scheme: dark)").addEventListener("change", () => frames.forEach(tellTheme));
  addEventListener("message", event => {
    const frame = frames.find(each => each.contentWindow === event.source);
    if (!frame || !(event.data?.panelHeight > 0)) return;
    const box = frame.parentElement, before = box.getBoundingClientRect(), isFirst = !box.classList.contains("moves");
    frame.style.height = `${event.data.panelHeight}px`;
    box.classList.add("moves");
    if (isFirst) tellTheme(frame);
    // What the reader looks at stays where it is, if a panel above it grows.
    if (before.bottom < 0 || (isFirst && before.top < 0)) scrollBy({ top: box.getBoundingClientRect().bottom - before.bottom, behavior: "instant" });
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
    : block.querySelector("code").textContent.replace(/\n$/, "");
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
    block.addEventListener("click", () => block.classList.add("tapped"));
  }

  // What is wider than its place says that it can be moved, for as long as it is.
  const slides = new ResizeObserver(entries => {
    for (const { target } of entries) target.nextElementSibling.hidden = target.scrollWidth <= target.clientWidth;
  });
  for (const wide of document.querySelectorAll(".code pre, .text .scroll, .picture")) {
    if (wide.closest(".panel")) continue;  // it fits, or it moves by itself
    const hint = document.createElement("p");
    hint.className = "slides";
    hint.hidden = true;
    hint.textContent = "↔ wider than the screen: move it sideways";
    wide.after(hint);
    slides.observe(wide);
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
