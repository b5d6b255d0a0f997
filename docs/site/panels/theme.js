// Runs in the head, before anything is drawn: the site's switch keeps its choice in localStorage under 'theme'. Without
// a choice the system decides (prefers-color-scheme, in panels.css). In a frame (embedded.js) the page around it decides.
'use strict';

(function () {
  const inFrame = new URLSearchParams(location.search);

  function apply(theme) {
    if (theme === 'dark' || theme === 'light') document.documentElement.dataset.theme = theme;
    else delete document.documentElement.dataset.theme;
  }

  function applyStored() {
    try {
      apply(localStorage.getItem('theme'));
    } catch {
      apply(null);  // some browsers refuse storage to pages opened from a file
    }
  }

  if (inFrame.has('in')) {
    apply(inFrame.get('theme'));
    addEventListener('message', event => { if (event.source === parent && event.data?.theme) apply(event.data.theme); });
  } else {
    applyStored();
    addEventListener('storage', applyStored);
  }
})();
