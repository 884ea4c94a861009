/* What screen readers and keyboards need and the theme leaves out: names for the search and for parts of the navigation, copy
   buttons that are no landmarks, and wide tables and formulas that can be scrolled without a mouse. */
(function () {
  "use strict";
  const each = (found, change) => document.querySelectorAll(found).forEach(change);
  const mend = () => {
    each('.md-search[role="dialog"]', (search) => search.setAttribute("aria-label", "Search"));
    each("nav.md-code__nav", (buttons) => buttons.setAttribute("role", "none"));
    each("nav.md-nav[aria-labelledby]", (part) => {
      const title = part.querySelector(":scope > .md-nav__title");
      part.setAttribute("aria-label", `Section ${title ? title.textContent.trim() : ""}`);
      part.removeAttribute("aria-labelledby");
    });
    each('.md-typeset__scrollwrap, math[display="block"]', (wide) => {
      if (wide.scrollWidth > wide.clientWidth) wide.setAttribute("tabindex", "0");
    });
  };
  new MutationObserver(mend).observe(document.body, { childList: true, subtree: true });
  window.addEventListener("resize", mend);
  window.addEventListener("load", mend);
  mend();
})();
