// Light and dark: the figures are canvases, whose colours are set here.

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
