// Show the selected cell in all panels, and follow the controls.

const show = () => {
  const partition = partitionAt(selected.row, selected.column);
  byId("number").value = selected.row;
  byId("beta").value = selected.column;
  byId("number-value").textContent = String(data.numbers[selected.row]);
  byId("beta-value").textContent = String(beta());
  byId("number").setAttribute("aria-valuetext", `${data.numbers[selected.row]} groups`);
  byId("beta").setAttribute("aria-valuetext", `beta ${beta()}`);
  const summary = byId("figures");
  summary.replaceChildren();
  for (const [word, value] of [["cost", costAt(partition, beta()) === null ? "–" : `${format(costAt(partition, beta()))} bits`], ["kept", percent(partition.kept)], ["largest error of one step", format(partition.epsilon)]]) {
    summary.append(`${word} `, element("strong", value), "   ");
  }
  fillGroups(partition);
  fillList(byId("notes"), partition.notes.filter((note) => !data.chain.applied.includes(note)));
  fillSmallMatrix(partition);
  fillList(byId("certificate"), partition.certificate);
  fillList(byId("over-time-words"), partition.over_time);
  fillChoice();
  fillMethods(partition);
  fillFilter(partition);
  fillStates();
  drawMatrix(partition);
  drawGraph(partition);
  drawCurves();
  drawFlow();
  drawDynamics(partition);
  history.replaceState(null, "", `#k=${data.numbers[selected.row]}&beta=${beta()}`);
};

const select = (row, column) => {
  if (partitionAt(row, column) === null) {
    // A cell that was not run: the nearest one of the same number of groups that was.
    const columns = data.betas.map((_, place) => place).filter((place) => partitionAt(row, place) !== null);
    if (columns.length === 0) return show();
    column = columns.reduce((a, b) => (Math.abs(b - column) < Math.abs(a - column) ? b : a));
  }
  Object.assign(selected, { row, column });
  show();
};

const readHash = () => {
  const wanted = new URLSearchParams(location.hash.slice(1));
  const row = data.numbers.indexOf(Number(wanted.get("k")));
  const column = data.betas.indexOf(Number(wanted.get("beta")));
  if (wanted.has("k") && row >= 0 && column >= 0) Object.assign(selected, { row, column });
};

const prepare = () => {
  const chain = data.chain;
  byId("summary").textContent = [
    count(states.length, "state"), count(chain.n_transitions, "transition"),
    ...(known ? [chain.is_reversible ? "reversible" : "not reversible", `entropy rate ${format(chain.entropy_rate, 3)} bits`, `I(X1;X2) = ${format(chain.redundancy_rate, 3)} bits`] : ["not irreducible"]),
  ].join(", ");
  fillList(byId("applied"), chain.applied);
  byId("number").max = data.numbers.length - 1;
  byId("beta").max = data.betas.length - 1;
  byId("number").disabled = !several.numbers;
  byId("beta").disabled = !several.betas;
  const needs = {
    several: several.numbers || several.betas, numbers: several.numbers && known, betas: several.betas && known, known,
    dynamics: data.partitions.some((partition) => partition.over_time.length > 0),
    timescales: data.partitions.some((partition) => partition.dynamics.original !== null || partition.dynamics.aggregated !== null),
    comparison: Object.keys(data.comparisons).length > 0,
  };
  for (const section of document.querySelectorAll("section[data-needs]")) section.hidden = !needs[section.dataset.needs];
  if (!several.betas) byId("flow-axis").value = "by_beta";
  byId("flow-choice").hidden = !(several.numbers && several.betas);
};

prepare();
readHash();
paint(systemTheme());
select(selected.row, selected.column);
byId("number").addEventListener("input", (event) => select(Number(event.target.value), selected.column));
byId("beta").addEventListener("input", (event) => select(selected.row, Number(event.target.value)));
byId("controls").addEventListener("submit", (event) => event.preventDefault());
byId("choice").addEventListener("click", (event) => {
  const { row, column } = event.target.dataset;
  if (row !== undefined) select(Number(row), Number(column));
});
byId("flow-axis").addEventListener("change", drawFlow);
for (const id of ["search", "group-filter"]) {
  byId(id).addEventListener("input", () => {
    shownStates.limit = PAGE;
    fillStates();
  });
}
byId("states").addEventListener("click", (event) => {
  const by = event.target.dataset.sort;
  if (by === undefined) return;
  Object.assign(shownStates, { descending: shownStates.by === by ? !shownStates.descending : by === "mass", by });
  fillStates();
  byId("states").querySelector(`[data-sort="${by}"]`).focus();
});
byId("more").addEventListener("click", () => {
  shownStates.limit += 8 * PAGE;
  fillStates();
});
byId("theme").addEventListener("click", () => paint(document.documentElement.dataset.theme === "dark" ? "light" : "dark"));
matchMedia("(prefers-color-scheme: dark)").addEventListener("change", () => paint(systemTheme()));
let onScreen = "light";
addEventListener("beforeprint", () => {
  onScreen = document.documentElement.dataset.theme;
  paint("light");
});
addEventListener("afterprint", () => paint(onScreen));
addEventListener("hashchange", () => {
  readHash();
  select(selected.row, selected.column);
});
figures.matrix.on_event("mousemove", readMatrix);
for (const name of ["costs", "kept"]) {
  const dots = model(`${name}-dots`);
  dots.selected.properties.indices.change.connect(() => {
    const [place] = dots.selected.indices;
    if (place === undefined) return;
    const [row, column] = [dots.data.row[place], dots.data.column[place]];
    dots.selected.indices = [];
    select(row, column);
  });
}
document.documentElement.dataset.ready = "true";
