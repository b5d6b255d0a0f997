// Runs in the head, before anything is drawn: the site's switch keeps its choice in localStorage under 'theme'. Without
// a choice the system decides (prefers-color-scheme, in panels.css).
'use strict';

(function () {
  function apply() {
    let theme = null;
    try {
      theme = localStorage.getItem('theme');
    } catch {
      // Some browsers refuse storage to pages opened from a file.
    }
    if (theme === 'dark' || theme === 'light') document.documentElement.dataset.theme = theme;
    else delete document.documentElement.dataset.theme;
  }
  apply();
  addEventListener('storage', apply);
})();
