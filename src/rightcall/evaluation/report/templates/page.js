"use strict";
(() => {
  const form = document.getElementById("filter");
  const cases = Array.from(document.querySelectorAll(".case"));
  if (!form || !cases.length) return;
  const count = document.getElementById("filter-count");
  const words = cases.map((item) => item.textContent.toLowerCase());
  const apply = () => {
    const text = form.elements.text.value.trim().toLowerCase();
    const { value: kind } = form.elements.kind;
    const { value: run } = form.elements.run;
    let shown = 0;
    cases.forEach((item, place) => {
      const fits =
        (!text || words[place].includes(text)) &&
        (!kind || item.dataset.kinds.split("|").includes(kind)) &&
        (!run || item.dataset.run === run);
      item.hidden = !fits;
      shown += fits;
    });
    count.textContent = `${shown} of ${cases.length} shown`;
  };
  const open = () => {
    const target = document.getElementById(location.hash.slice(1));
    if (!target || !target.classList.contains("case")) return;
    target.open = true;
    target.hidden = false;
    target.scrollIntoView();
  };
  form.hidden = false;
  form.addEventListener("input", apply);
  form.addEventListener("submit", (event) => event.preventDefault());
  addEventListener("hashchange", open);
  apply();
  open();
})();
