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
  byId("over-time-words").closest("section").hidden = partition.over_time.length === 0;
  fillChoice();
  fillMethods(partition);
  fillFilter(partition);
  fillStates();
  drawMatrix(partition);
  drawGraph(partition);
  drawCurves();
  drawFlow();
  drawDynamics(partition);
  try {
    history.replaceState(null, "", `#k=${data.numbers[selected.row]}&beta=${beta()}`);
  } catch {
    // A frame without an address of its own cannot keep the selection there.
  }
};

// Select a cell; instead of one that was not run, the next one that was, in the direction of the control.
const select = (row, column, { rows = 0, columns = 0 } = {}) => {
  const cells = data.cells.flatMap((line, i) => line.map((_, j) => [i, j])).filter(([i, j]) => partitionAt(i, j) !== null);
  const ahead = cells.filter(([i, j]) => (columns === 0 || (i === row && (j - column) * columns >= 0)) && (rows === 0 || (i - row) * rows >= 0));
  const distance = ([i, j]) => Math.abs(i - row) * data.betas.length + Math.abs(j - column);
  if (ahead.length > 0) [selected.row, selected.column] = ahead.reduce((best, cell) => (distance(cell) < distance(best) ? cell : best));
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
byId("number").addEventListener("input", (event) => {
  const row = Number(event.target.value);
  select(row, selected.column, { rows: Math.sign(row - selected.row) });
});
byId("beta").addEventListener("input", (event) => {
  const column = Number(event.target.value);
  select(selected.row, column, { columns: Math.sign(column - selected.column) });
});
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
let chosen = false;
byId("theme").addEventListener("click", () => {
  chosen = true;
  paint(document.documentElement.dataset.theme === "dark" ? "light" : "dark");
});
matchMedia("(prefers-color-scheme: dark)").addEventListener("change", () => chosen || paint(systemTheme()));
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
select(selected.row, selected.column);
document.documentElement.dataset.ready = "true";
