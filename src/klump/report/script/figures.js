// Figures: fill the sources of Bokeh with what the selected cell shows.

// The sources are still empty, which Bokeh would warn about.
Bokeh.set_log_level("error");
const figures = {};
for (const [name, item] of Object.entries(items)) {
  const views = await Bokeh.embed.embed_item(item, name);
  figures[name] = (Array.isArray(views) ? views[0] : [...views][0]).model;
}
const model = (name) => {
  for (const document of Bokeh.documents) {
    const found = document.get_model_by_name(name);
    if (found) return found;
  }
  throw new Error(`no model ${name}`);
};
const fill = (name, columns) => {
  model(name).data = columns;
};
const setRange = (figure, x, y) => {
  figure.x_range.setv({ start: x[0], end: x[1] });
  figure.y_range.setv({ start: y[0], end: y[1] });
};

const drawMatrix = (partition) => {
  const { bins, borders, levels } = partition.matrix;
  const coded = decode(levels, Uint8Array);
  const size = bins.length - 1;
  const n = states.length;
  const cells = { left: [], right: [], top: [], bottom: [], level: [] };
  for (let i = 0; i < size; i++) {
    for (let j = 0; j < size; j++) {
      const level = coded[i * size + j];
      if (level === 0) continue;
      cells.left.push(bins[j] / n);
      cells.right.push(bins[j + 1] / n);
      cells.top.push(bins[i] / n);
      cells.bottom.push(bins[i + 1] / n);
      cells.level.push(level);
    }
  }
  fill("matrix-cells", cells);
  const bordered = partition.k <= data.limits.groups;
  const strips = { left: [], right: [], top: [], bottom: [], colour: [] };
  (bordered ? coloursOf(partition) : []).forEach((colour, group) => {
    const [from, to] = [borders[group] / n, borders[group + 1] / n];
    for (const edge of [[-0.05, -0.015, from, to], [from, to, -0.05, -0.015]]) {
      strips.left.push(edge[0]);
      strips.right.push(edge[1]);
      strips.top.push(edge[2]);
      strips.bottom.push(edge[3]);
      strips.colour.push(colour);
    }
  });
  fill("matrix-strips", strips);
  const lines = { x0: [], y0: [], x1: [], y1: [] };
  for (const border of bordered ? borders : []) {
    lines.x0.push(border / n, -0.05);
    lines.y0.push(-0.05, border / n);
    lines.x1.push(border / n, 1);
    lines.y1.push(1, border / n);
  }
  fill("matrix-borders", lines);
  const binned = partition.matrix.order === null;
  const merged = partition.k >= data.limits.bins;
  byId("matrix-note").textContent =
    (binned ? `${count(n, "state")} in ${size} bins per side${merged ? "" : ", which keep the borders of the groups"}; ` : "") +
    `strongest colour: ${format(partition.matrix.largest)}${binned ? " on average in a bin" : ""}, by its square root.` +
    (bordered ? " Coloured strips: the groups." : ` Borders of more than ${data.limits.groups} groups are not drawn.`);
  byId("matrix-readout").textContent = "";
};

const readMatrix = (event) => {
  const partition = partitionAt(selected.row, selected.column);
  const { bins, borders, levels, largest, order } = partition.matrix;
  const n = states.length;
  const [column, row] = [event.x * n, event.y * n];
  const output = byId("matrix-readout");
  if (!(row >= 0 && row < n && column >= 0 && column < n)) {
    output.textContent = "";
    return;
  }
  const place = (position) => bins.findIndex((bin) => bin > position) - 1;
  const groupAt = (position) => borders.findIndex((border) => border > position) - 1;
  const [i, j] = [place(row), place(column)];
  const level = decode(levels, Uint8Array)[i * (bins.length - 1) + j];
  const value = largest * (level / 255) ** 2;
  const shown = order === null ? null : decode(order, Uint32Array);
  const what = (bin, position) =>
    shown === null ? `group ${groupName(partition, groupAt(position))}` : `${shorten(displayed(shown[bin]))} (group ${groupAt(position)})`;
  output.textContent = `from ${what(i, row)} to ${what(j, column)}: about ${format(value)}`;
};

const drawGraph = (partition) => {
  const view = partition.graph;
  byId("graph").hidden = view === null;
  if (view === null) {
    byId("graph-note").textContent = `${count(partition.k, "group")} are too many for a graph.`;
    return;
  }
  const colours = coloursOf(partition);
  const names = partition.names.map((_, group) => groupName(partition, group));
  fill("graph-edges", {
    xs: view.edges.map((edge) => edge.outline[0]),
    ys: view.edges.map((edge) => edge.outline[1]),
    colour: view.edges.map((edge) => colours[edge.source]),
    source: view.edges.map((edge) => names[edge.source]),
    target: view.edges.map((edge) => names[edge.target]),
    probability: view.edges.map((edge) => edge.probability),
  });
  const [x, y] = [0, 1].map((axis) => view.positions.map((position) => position[axis]));
  const ring = view.radii.map((radius) => radius + 0.018);
  fill("graph-nodes", {
    x, y, r: view.radii, colour: colours, name: names,
    inner: ring, outer: ring.map((radius) => radius + 0.022),
    end: view.staying.map((share) => Math.PI / 2 - Math.max(share, 1e-9) * 2 * Math.PI),
    mass: partition.masses ?? names.map(() => NaN), states: partition.sizes, staying: view.staying,
  });
  const labelled = partition.k <= 30;
  const offsets = view.outwards.map((direction, group) => direction.map((part, axis) => view.positions[group][axis] + part * (ring[group] + 0.09)));
  fill("graph-labels", {
    x: labelled ? offsets.map((point) => point[0]) : [],
    y: labelled ? offsets.map((point) => point[1]) : [],
    text: labelled ? partition.names.map((name) => shorten(name, 16)) : [],
    align: labelled ? view.outwards.map(([dx]) => (dx > 0.3 ? "left" : dx < -0.3 ? "right" : "center")) : [],
  });
  const numbered = view.radii.map((radius) => radius > 0.07);
  fill("graph-numbers", {
    x: x.filter((_, group) => numbered[group]), y: y.filter((_, group) => numbered[group]),
    text: x.map((_, group) => String(group)).filter((_, group) => numbered[group]),
  });
  const widest = view.edges.at(-1);
  byId("graph-note").textContent =
    "Area: stationary mass. Arrow: probability of the transition" +
    (widest ? `; the widest, from ${names[widest.source]} to ${names[widest.target]}, has ${format(widest.probability)}` : "") +
    ". Ring: probability of staying." +
    (view.n_left_out > 0 ? ` ${count(view.n_left_out, "arrow")} of small probability left out.` : "");
};

const drawCurves = () => {
  const at = (row, column, value) => {
    const partition = partitionAt(row, column);
    return partition === null ? null : value(partition, data.betas[column]);
  };
  const draw = (name, lines, line, here, value, xOf) => {
    const points = (cells) => cells.map(([row, column]) => [xOf(row, column), at(row, column, value), row, column]).filter((point) => point[1] !== null);
    const drawn = lines.map(points);
    fill(`${name}-lines`, { xs: drawn.map((p) => p.map((q) => q[0])), ys: drawn.map((p) => p.map((q) => q[1])) });
    const current = points(line);
    fill(`${name}-line`, { x: current.map((p) => p[0]), y: current.map((p) => p[1]) });
    const dots = drawn.flat();
    fill(`${name}-dots`, {
      x: dots.map((p) => p[0]), y: dots.map((p) => p[1]), row: dots.map((p) => p[2]), column: dots.map((p) => p[3]),
      k: dots.map((p) => data.numbers[p[2]]), beta: dots.map((p) => data.betas[p[3]]),
    });
    const marked = points([here]);
    fill(`${name}-here`, { x: marked.map((p) => p[0]), y: marked.map((p) => p[1]) });
  };
  const rows = data.numbers.map((_, row) => row);
  const columns = data.betas.map((_, column) => column);
  const here = [selected.row, selected.column];
  draw("costs", rows.map((row) => columns.map((column) => [row, column])), columns.map((column) => [selected.row, column]), here, costAt, (_, column) => data.betas[column]);
  draw("kept", columns.map((column) => rows.map((row) => [row, column])), rows.map((row) => [row, selected.column]), here, (partition) => (partition.kept === null ? null : 100 * partition.kept), (row) => data.numbers[row]);
  const path = columns.map((column) => [partitionAt(selected.row, column), data.betas[column]]).filter(([partition]) => partition !== null && partition.lumpability !== null);
  const x = path.map(([partition]) => partition.lumpability);
  const y = path.map(([partition]) => partition.predictability);
  fill("plane-line", { x, y });
  fill("plane-dots", { x, y, beta: path.map(([, value]) => value) });
  const now = partitionAt(selected.row, selected.column);
  fill("plane-here", now.lumpability === null ? { x: [], y: [] } : { x: [now.lumpability], y: [now.predictability] });
  // Betas with the same partition share a dot, and one label.
  const labels = new Map();
  for (const [partition, value] of path) {
    const key = `${partition.lumpability},${partition.predictability}`;
    if (!labels.has(key)) labels.set(key, { partition, betas: [] });
    labels.get(key).betas.push(value);
  }
  const shared = [...labels.values()];
  fill("plane-labels", {
    x: shared.map((label) => label.partition.lumpability), y: shared.map((label) => label.partition.predictability),
    text: shared.map(({ betas }) => (betas.length > 2 ? `${betas[0]}–${betas.at(-1)}` : betas.join(", "))),
  });
};

const drawFlow = () => {
  const axis = byId("flow-axis").value;
  const found = data.flows[axis][axis === "by_number" ? selected.row : selected.column];
  byId("flow").hidden = found === null;
  byId("flow-note").textContent = found === null ? `There are not two neighbouring answers with at most ${data.limits.groups} groups.` : "";
  if (found === null) return;
  const partitions = found.cells.map(([k, value]) => partitionAt(data.numbers.indexOf(k), data.betas.indexOf(value)));
  fill("flow-ribbons", {
    xs: found.ribbons.map((ribbon) => ribbon.outline[0]), ys: found.ribbons.map((ribbon) => ribbon.outline[1]),
    colour: found.ribbons.map((ribbon) => colourOf(ribbon.identity)),
    source: found.ribbons.map((ribbon) => groupName(partitions[ribbon.answer], ribbon.source)),
    target: found.ribbons.map((ribbon) => groupName(partitions[ribbon.answer + 1], ribbon.target)),
    mass: found.ribbons.map((ribbon) => ribbon.mass),
  });
  fill("flow-bars", {
    left: found.bars.map((bar) => bar[0] - found.half_width), right: found.bars.map((bar) => bar[0] + found.half_width),
    bottom: found.bars.map((bar) => bar[3]), top: found.bars.map((bar) => bar[4]),
    colour: found.bars.map((bar) => colourOf(bar[2])),
  });
  const heights = found.bars.flatMap((bar) => [bar[3], bar[4]]);
  const [low, high] = [Math.min(...heights) - 0.02, Math.max(...heights) + 0.02];
  const here = found.cells.findIndex(([k, value]) => k === data.numbers[selected.row] && value === beta());
  fill("flow-here", here < 0 ? { left: [], right: [], top: [], bottom: [] } : { left: [here - 0.12], right: [here + 0.12], bottom: [low], top: [high] });
  const figure = figures.flow;
  setRange(figure, [-0.4, found.cells.length - 0.6], [low, high]);
  figure.below[0].ticker.ticks = found.cells.map((_, place) => place);
  figure.below[0].major_label_overrides = new Map(found.cells.map(([k, value], place) => [place, axis === "by_number" ? `beta ${value}` : `${k} groups`]));
};

const drawDynamics = (partition) => {
  const { test } = partition.dynamics;
  const colours = coloursOf(partition);
  for (const kind of ["original", "aggregated", "long_time"]) {
    const curves = test === null ? [] : test[kind].filter((curve) => curve.every((value) => value !== null));
    fill(`over-time-${kind}`, {
      xs: curves.map(() => test.steps), ys: curves, colour: curves.map((_, group) => colours[group]),
    });
    // Infinite timescales, which are null, keep their rank.
    const ranked = (partition.dynamics[kind] ?? []).map((value, rank) => [rank + 1, value]).slice(0, Math.max(partition.k, 4));
    const finite = ranked.filter(([, value]) => value !== null && value > 0);
    fill(`timescales-${kind}`, { x: finite.map(([rank]) => rank), y: finite.map(([, value]) => value) });
  }
  for (const id of ["over-time", "over-time-note"]) byId(id).hidden = test === null;
  byId("curves-note").textContent = partition.k > data.limits.curves ? ` The ${data.limits.curves} groups with the lowest numbers.` : "";
  const infinite = (partition.dynamics.original ?? []).filter((value) => value === null).length;
  byId("infinite-note").textContent = infinite > 0 ? ` ${count(infinite, "timescale")} of the original chain infinite.` : "";
};
