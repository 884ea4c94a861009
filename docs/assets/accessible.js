/* What screen readers need and the theme leaves out: a name for the search, and copy buttons that are no landmarks. */
(function () {
  "use strict";
  const mend = () => {
    document.querySelectorAll('.md-search[role="dialog"]').forEach((found) => found.setAttribute("aria-label", "Search"));
    document.querySelectorAll("nav.md-code__nav").forEach((found) => found.setAttribute("role", "none"));
  };
  new MutationObserver(mend).observe(document.body, { childList: true, subtree: true });
  mend();
})();
