// Tables and sentences.

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


// The table of states.
const collator = new Intl.Collator(undefined, { numeric: true });
const shownStates = { by: "mass", descending: true, limit: PAGE };

const fillFilter = (partition) => {
  const filter = byId("group-filter");
  const before = fillFilter.identity;
  filter.replaceChildren(element("option", "all", { attributes: { value: "" } }), ...partition.names.map((_, group) => element("option", groupName(partition, group), { attributes: { value: String(group) } })));
  // The same group, whatever its number is now.
  const group = partition.identities.indexOf(before);
  filter.value = group >= 0 ? String(group) : "";
};

const fillStates = () => {
  const partition = partitionAt(selected.row, selected.column);
  const labels = labelsOf(partition);
  const shares = sharesOf(partition);
  const wanted = byId("search").value.toLowerCase();
  const group = byId("group-filter").value;
  fillFilter.identity = group === "" ? undefined : partition.identities[Number(group)];
  const found = byMass.filter((state) => states[state].toLowerCase().includes(wanted) && (group === "" || labels[state] === Number(group)));
  const direction = shownStates.descending ? -1 : 1;
  if (shownStates.by === "state") found.sort((a, b) => direction * collator.compare(states[a], states[b]));
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
    return tableRow([{ text: shorten(displayed(state), NAME), kind: "text" }, named, ...(mass === null ? [] : [format(mass[state], 6)]), ...(shares === null ? [] : [percent(shares[state])])]);
  });
  fillTable(byId("states"), header, rows);
  byId("found").textContent = `${count(found.length, "state")} found${found.length > rows.length ? `, ${rows.length} shown` : ""}`;
  byId("more").hidden = found.length <= rows.length;
};
