// Data of the page, the selected cell, and formats.

const byId = (id) => document.getElementById(id);
const data = JSON.parse(byId("klump-data").textContent);
const items = JSON.parse(byId("klump-figures").textContent);
const several = { numbers: data.numbers.length > 1, betas: data.betas.length > 1 };
const known = data.chain.is_irreducible;
// Rows of the table of states that are added at a time.
const PAGE = 25;
// Members that are listed per group.
const LISTED = 12;
// Characters of a name in the table of states.
const NAME = 200;
// Characters of a name in figures.
const CUT = 26;

const decode = (text, Type) => {
  const bytes = Uint8Array.from(atob(text), (c) => c.charCodeAt(0));
  return new Type(bytes.buffer);
};
const mass = data.chain.mass === null ? null : decode(data.chain.mass, Float32Array);
const states = data.chain.states;
const labelsOf = (partition) => (partition.decoded ??= decode(partition.labels, partition.k > 65536 ? Uint32Array : Uint16Array));
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


// The selected cell.
const selected = { row: data.first[0], column: data.first[1] };
const partitionAt = (row, column) => {
  const number = data.cells[row][column];
  return number === null ? null : data.partitions[number];
};
const beta = () => data.betas[selected.column];
