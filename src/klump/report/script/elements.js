// Elements of the page: text is always text, never markup.

const element = (tag, text, options = {}) => {
  const made = document.createElement(tag);
  // Names may be written from right to left.
  if (/\btext\b/.test(options.kind ?? "")) made.dir = "auto";
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
