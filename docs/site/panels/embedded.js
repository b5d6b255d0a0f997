// A panel in a frame of the site, which opens it with ?in=lesson or ?in=page: it tells the page around it how high it is,
// and its links leave the frame. In a lesson, the sections of class "more" are folded. Runs in the head; opened by itself,
// a panel needs none of this.
'use strict';

(function () {
  const place = new URLSearchParams(location.search).get('in');
  if (place === null || parent === window) return;
  document.documentElement.dataset.in = place;

  function fold() {
    const sections = [...document.querySelectorAll('main > .more')];
    const names = sections.map(section => section.querySelector('h2').textContent);
    const details = document.createElement('details'), summary = document.createElement('summary');
    summary.textContent = names.join(' · ');
    sections[0].before(details);
    details.append(summary, ...sections);
    details.addEventListener('toggle', () => dispatchEvent(new Event('redraw')));  // what was folded had no width
  }

  // Frames that nobody sees are not laid out anew: the first height does not wait for the observer.
  function tellHeight() {
    parent.postMessage({panelHeight: Math.ceil(document.body.getBoundingClientRect().height)}, '*');
  }

  addEventListener('DOMContentLoaded', () => {
    if (place === 'lesson') fold();
    for (const link of document.links) if (!link.getAttribute('href').startsWith('#')) link.target = '_top';
  });
  addEventListener('load', () => {
    tellHeight();
    new ResizeObserver(tellHeight).observe(document.body);
  });
})();
