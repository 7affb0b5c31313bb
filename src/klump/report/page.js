"use strict";
(async () => {
  const byId = (id) => document.getElementById(id);
  const data = JSON.parse(byId("klump-data").textContent);
  const items = JSON.parse(byId("klump-figures").textContent);
  const several = { numbers: data.numbers.length > 1, betas: data.betas.length > 1 };
  const known = data.chain.is_irreducible;
  // Rows of the table of states that are added at a time.
  const PAGE = 25;
  // Members that are listed per group.
  const LISTED = 12;
  // Characters of a name in figures.
  const CUT = 26;

  // ---- values

  const decode = (text, Type) => {
    const bytes = Uint8Array.from(atob(text), (c) => c.charCodeAt(0));
    return new Type(bytes.buffer);
  };
  const mass = data.chain.mass === null ? null : decode(data.chain.mass, Float32Array);
  const states = data.chain.states;
  const labelsOf = (partition) => (partition.decoded ??= decode(partition.labels, Uint16Array));
  const sharesOf = (partition) => (partition.shares === null ? null : decode(partition.shares, Float32Array));
  const byMass = [...states.keys()];
  if (mass !== null) byMass.sort((a, b) => mass[b] - mass[a] || a - b);
  const colourOf = (identity) => data.palette[identity % data.palette.length];
  const coloursOf = (partition) => partition.identities.map(colourOf);
  const shorten = (text, width = CUT) => {
    const letters = [...text];
    return letters.length <= width ? text : letters.slice(0, width - 1).join("") + "…";
  };
  // A name that is empty, or begins or ends with a blank, is quoted.
  const displayed = (state) => (states[state] === states[state].trim() && states[state] !== "" ? states[state] : `'${states[state]}'`);
  const groupName = (partition, group) => `${group} · ${shorten(partition.names[group])}`;
  const format = (value, digits = 4) => {
    if (value === null || value === undefined) return "–";
    if (value !== 0 && Math.abs(value) < 5e-4 && Math.abs(value) >= 1e-12) return value.toExponential(1);
    return value.toFixed(digits);
  };
  const percent = (value) => (value === null ? "–" : `${(100 * value).toFixed(1)} %`);
  const count = (number, word) => `${number.toLocaleString("en")} ${word}${number === 1 ? "" : "s"}`;
  const costAt = (row, beta) =>
    row.lumpability === null
      ? null
      : (1 - 2 * beta) * row.lumpability + beta * row.predictability + (data.gamma > 0 ? data.gamma * row.generated : 0);

  // ---- the selected cell

  const selected = { row: data.first[0], column: data.first[1] };
  const partitionAt = (row, column) => {
    const number = data.cells[row][column];
    return number === null ? null : data.partitions[number];
  };
  const beta = () => data.betas[selected.column];

  // ---- small helpers for elements: text is always text, never markup

  const element = (tag, text, options = {}) => {
    const made = document.createElement(tag);
    if (text !== undefined && text !== null) made.textContent = text;
    if (options.kind) made.className = options.kind;
    for (const [key, value] of Object.entries(options.attributes ?? {})) made.setAttribute(key, value);
    return made;
  };
  const fillTable = (table, header, rows) => {
    const head = element("thead");
    const first = element("tr");
    for (const cell of header) first.append(cell instanceof Node ? cell : element("th", cell.text, { kind: cell.kind, attributes: { scope: "col" } }));
    head.append(first);
    const body = element("tbody");
    for (const row of rows) body.append(row);
    table.replaceChildren(head, body);
  };
  const tableRow = (cells, kind) => {
    const row = element("tr", null, { kind });
    for (const cell of cells) row.append(cell instanceof Node ? cell : element("td", cell.text ?? cell, { kind: cell.kind }));
    return row;
  };
  const chip = (partition, group) => {
    const cell = element("td");
    const made = element("span", String(group), { kind: "chip" });
    made.style.backgroundColor = colourOf(partition.identities[group]);
    cell.append(made);
    return cell;
  };
  const fillList = (list, sentences) => {
    list.replaceChildren(...sentences.map((sentence) => element("li", sentence)));
    list.hidden = sentences.length === 0;
  };

  // ---- figures

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
    const strips = { left: [], right: [], top: [], bottom: [], colour: [] };
    coloursOf(partition).forEach((colour, group) => {
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
    for (const border of borders) {
      lines.x0.push(border / n, -0.05);
      lines.y0.push(-0.05, border / n);
      lines.x1.push(border / n, 1);
      lines.y1.push(1, border / n);
    }
    fill("matrix-borders", lines);
    const binned = partition.matrix.order === null;
    byId("matrix-note").textContent =
      (binned ? `${count(n, "state")} in ${size} bins per side, which keep the borders of the groups; ` : "") +
      `darkest: ${format(partition.matrix.largest)}${binned ? " on average in a bin" : ""}, by its square root. Coloured strips: the groups.`;
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
    fill("plane-dots", { x, y, beta: path.map(([, value]) => value), cost: path.map(([partition, value]) => costAt(partition, value)) });
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
      const values = (partition.dynamics[kind] ?? []).filter((value) => value !== null && value > 0).slice(0, Math.max(partition.k, 4));
      fill(`timescales-${kind}`, { x: values.map((_, rank) => rank + 1), y: values });
    }
    byId("over-time").hidden = test === null;
  };

  // ---- tables and words

  const membersOf = (partition) => {
    const labels = labelsOf(partition);
    const members = Array.from({ length: partition.k }, () => []);
    for (const state of byMass) if (members[labels[state]].length < LISTED) members[labels[state]].push(state);
    return members;
  };

  const fillGroups = (partition) => {
    const members = membersOf(partition);
    const header = [{ text: "group" }, { text: "name, heaviest members", kind: "text" }, { text: "states" }, { text: "mass" }];
    const rows = partition.names.map((name, group) => {
      const more = partition.sizes[group] - members[group].length;
      const listed = members[group].map((state) => shorten(displayed(state)));
      const named = element("td", null, { kind: "text" });
      named.append(element("strong", shorten(name, 60)), element("div", listed.join("  ") + (more > 0 ? `  and ${more.toLocaleString("en")} more` : ""), { kind: "members" }));
      return tableRow([chip(partition, group), named, partition.sizes[group].toLocaleString("en"), format(partition.masses?.[group])]);
    });
    fillTable(byId("group-table"), header, rows);
  };

  const fillSmallMatrix = (partition) => {
    const matrix = partition.transition_matrix;
    const table = byId("small-matrix");
    for (const part of [table, byId("small-title")]) part.hidden = matrix === null;
    if (matrix === null) return;
    const header = [{ text: "from \\ to", kind: "text" }, ...matrix.map((_, group) => ({ text: String(group) }))];
    const rows = matrix.map((row, group) => {
      const cells = row.map((value) => {
        const cell = element("td", format(value));
        cell.style.backgroundColor = `color-mix(in srgb, var(--accent) ${Math.round(55 * Math.sqrt(value))}%, transparent)`;
        return cell;
      });
      return tableRow([{ text: groupName(partition, group), kind: "text" }, ...cells]);
    });
    fillTable(table, header, rows);
  };

  const fillChoice = () => {
    const header = [{ text: "groups" }, ...data.betas.map((value) => ({ text: `beta ${value}` }))];
    const rows = data.numbers.map((number, row) =>
      tableRow([
        String(number),
        ...data.betas.map((_, column) => {
          const cell = element("td");
          const partition = partitionAt(row, column);
          if (partition === null) {
            cell.textContent = "not run";
            return cell;
          }
          const pressed = row === selected.row && column === selected.column;
          const button = element("button", percent(partition.kept), {
            attributes: { type: "button", "aria-pressed": String(pressed), "aria-label": `${number} groups, beta ${data.betas[column]}, kept ${percent(partition.kept)}`, "data-row": row, "data-column": column },
          });
          cell.append(button);
          return cell;
        }),
      ]),
    );
    const focused = document.activeElement?.closest("#choice") !== null && document.activeElement?.dataset?.row !== undefined;
    fillTable(byId("choice"), header, rows);
    if (focused) byId("choice").querySelector('[aria-pressed="true"]')?.focus();
  };

  const fillMethods = (partition) => {
    const found = data.comparisons[data.numbers[selected.row]];
    byId("methods").closest("section").hidden = found === undefined;
    if (found === undefined) return;
    const own = { ...partition, name: "this answer", as_asked: true, seconds: null, error: null, own: true };
    const rows = [own, ...found.rows].map((row) => ({ ...row, cost: row.error === null ? costAt(row, beta()) : null }));
    const rank = (row) => [row.error === null ? 0 : 2, row.as_asked ? 0 : 1, row.cost ?? 0];
    rows.sort((a, b) => rank(a).map((value, place) => value - rank(b)[place]).find((difference) => difference !== 0) ?? 0);
    byId("methods-note").textContent =
      `Partitions that each method found when asked for ${count(data.numbers[selected.row], "group")} at beta ${found.beta}, all scored at beta ${beta()}.` +
      (found.not_installed.length > 0 ? ` Not installed: ${found.not_installed.join(", ")}.` : "");
    const header = [{ text: "method", kind: "text" }, { text: "groups" }, { text: "cost" }, { text: "lumpability" }, { text: "predictability" }, { text: "kept" }, { text: "seconds" }];
    fillTable(byId("methods"), header, rows.map((row) =>
      row.error === null
        ? tableRow([{ text: row.name + (row.soft ? " (soft)" : ""), kind: "text" }, String(row.k), format(row.cost), format(row.lumpability), format(row.predictability), percent(row.kept), row.seconds === null ? "" : row.seconds.toFixed(2)], row.own ? "here" : undefined)
        : tableRow([{ text: row.name, kind: "text" }, Object.assign(element("td", row.error, { kind: "text" }), { colSpan: 6 })]),
    ));
  };

  // ---- the table of states

  const shownStates = { by: "mass", descending: true, limit: PAGE };

  const fillFilter = (partition) => {
    const filter = byId("group-filter");
    const before = filter.value;
    filter.replaceChildren(element("option", "all", { attributes: { value: "" } }), ...partition.names.map((_, group) => element("option", groupName(partition, group), { attributes: { value: String(group) } })));
    filter.value = Number(before) < partition.k ? before : "";
  };

  const fillStates = () => {
    const partition = partitionAt(selected.row, selected.column);
    const labels = labelsOf(partition);
    const shares = sharesOf(partition);
    const wanted = byId("search").value.toLowerCase();
    const group = byId("group-filter").value;
    const found = byMass.filter((state) => states[state].toLowerCase().includes(wanted) && (group === "" || labels[state] === Number(group)));
    const direction = shownStates.descending ? -1 : 1;
    if (shownStates.by === "state") found.sort((a, b) => direction * states[a].localeCompare(states[b], undefined, { numeric: true }));
    else if (shownStates.by === "group") found.sort((a, b) => direction * (labels[a] - labels[b]));
    else if (!shownStates.descending) found.reverse();
    const columns = [["state", "text"], ["group", "text"], ...(mass === null ? [] : [["mass", ""]])];
    const header = columns.map(([name, kind]) => {
      const cell = element("th", null, { kind, attributes: { scope: "col", "aria-sort": shownStates.by === name ? (shownStates.descending ? "descending" : "ascending") : "none" } });
      cell.append(element("button", name + (shownStates.by === name ? (shownStates.descending ? " ↓" : " ↑") : ""), { attributes: { type: "button", "data-sort": name } }));
      return cell;
    });
    if (shares !== null) header.push({ text: "membership" });
    const rows = found.slice(0, shownStates.limit).map((state) => {
      const named = chip(partition, labels[state]);
      named.className = "text";
      named.append(` ${shorten(partition.names[labels[state]], 40)}`);
      return tableRow([{ text: displayed(state), kind: "text" }, named, ...(mass === null ? [] : [format(mass[state], 6)]), ...(shares === null ? [] : [percent(shares[state])])]);
    });
    fillTable(byId("states"), header, rows);
    byId("found").textContent = `${count(found.length, "state")} found${found.length > rows.length ? `, ${rows.length} shown` : ""}`;
    byId("more").hidden = found.length <= rows.length;
  };

  // ---- theme: the figures are canvases, whose colours are set here

  const ramp = (stops) =>
    Array.from({ length: 256 }, (_, level) => {
      const place = (level / 255) * (stops.length - 1);
      const [low, share] = [Math.min(Math.floor(place), stops.length - 2), place - Math.min(Math.floor(place), stops.length - 2)];
      const parts = [0, 1, 2].map((part) => Math.round(stops[low][part] * (1 - share) + stops[low + 1][part] * share));
      return "#" + parts.map((part) => part.toString(16).padStart(2, "0")).join("");
    });
  const RAMPS = { light: ramp([[238, 243, 247], [77, 150, 196], [11, 85, 130], [4, 32, 54]]), dark: ramp([[32, 40, 48], [23, 92, 132], [77, 178, 232], [233, 246, 255]]) };

  const paint = (theme) => {
    document.documentElement.dataset.theme = theme;
    byId("theme").textContent = theme === "dark" ? "Light" : "Dark";
    const style = getComputedStyle(document.documentElement);
    const colour = (name) => style.getPropertyValue(`--${name}`).trim();
    const [text, muted, line, accent, second] = ["text", "muted", "line", "accent", "second"].map(colour);
    for (const figure of Object.values(figures)) {
      for (const axis of [...figure.below, ...figure.left]) {
        axis.setv({ axis_label_text_color: muted, major_label_text_color: muted, axis_line_color: line, major_tick_line_color: line });
      }
      for (const grid of figure.center) if ("grid_line_color" in grid) grid.grid_line_color = line;
      for (const renderer of figure.renderers) {
        const [tone, kind] = (renderer.name ?? "").split("-");
        const value = { foreground: text, accent, second, muted }[tone];
        if (value === undefined) continue;
        if (kind === "text") renderer.glyph.text_color = { value };
        if (kind === "line" || kind === "ring" || kind === "dot") renderer.glyph.line_color = { value };
        if (kind === "dot") renderer.glyph.fill_color = { value };
      }
    }
    model("matrix-colours").palette = RAMPS[theme];
  };
  const systemTheme = () => (matchMedia("(prefers-color-scheme: dark)").matches ? "dark" : "light");

  // ---- putting it together

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
})();
