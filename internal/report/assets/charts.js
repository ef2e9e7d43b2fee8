// Draws the charts over time. Each section of charts holds its data as JSON and
// an empty panel for each chart; all charts of a section share one time axis.
(function () {
  "use strict";

  const sections = Array.from(document.querySelectorAll("section.charts"), (element, index) => ({
    element,
    key: "run" + index,
    data: JSON.parse(element.querySelector("script[type='application/json']").textContent),
    panels: Array.from(element.querySelectorAll(".panel")),
    drawn: [],
    width: 0,
  }));

  const paperWidth = 680;
  let onPaper = false;

  function colour(name) {
    return getComputedStyle(document.documentElement).getPropertyValue("--" + name).trim();
  }

  function draw(section) {
    const width = onPaper ? paperWidth : section.element.clientWidth;
    if (width === 0) return; // in a closed run; drawn when it opens
    section.drawn.forEach((chart) => chart.destroy());
    section.width = width;
    section.drawn = section.data.panels.map((panel, i) =>
      new uPlot(options(section, panel, i === 0), columns(section, panel), section.panels[i]));
  }

  // columns puts counts in the middle of the second that they are of; samples are of a moment.
  function columns(section, panel) {
    const seconds = section.data.seconds;
    return [panel.unit === "rate" ? seconds.map((s) => s + 0.5) : seconds, ...panel.series.map((s) => s.values)];
  }

  // span keeps the whole time axis the same in all charts, whatever the first and last point of each.
  function span(section) {
    const seconds = section.data.seconds;
    return (chart, lowest, highest) => {
      const all = chart.data[0];
      const whole = lowest === all[0] && highest === all[all.length - 1];
      return whole ? [seconds[0], seconds[seconds.length - 1]] : [lowest, highest];
    };
  }

  function options(section, panel, first) {
    const grid = { stroke: colour("rule"), width: 1 };
    const axis = { stroke: colour("muted"), grid, ticks: { show: false }, font: "12px system-ui, sans-serif" };
    const write = { rate: writeRate, cpus: writeCPUs, bytes: writeBytes }[panel.unit];
    return {
      width: section.width,
      height: (first ? 16 : 0) + (section.width < 500 ? 148 : 160),
      padding: [first ? 20 : 8, 12, 0, 0],
      cursor: { sync: { key: section.key }, y: false, points: { size: 6 } },
      scales: {
        x: { time: false, range: span(section) },
        y: { range: (chart, lowest, highest) => [0, highest > 0 ? highest * 1.08 : 1] },
      },
      axes: [
        { ...axis, size: 28, gap: 7, space: 70, incrs: steps(), values: (chart, moments) => moments.map(writeMoment) },
        { ...axis, size: 62, gap: 4, space: 28, incrs: panel.unit === "bytes" ? powersOfTwo() : undefined, values: (chart, values) => values.map((v) => write(v)) },
      ],
      series: [{ label: "at", value: (chart, v) => (v == null ? "" : writeMoment(Math.floor(v))) }, ...panel.series.map((s) => line(s, write))],
      hooks: {
        init: [(chart) => chart.root.classList.add("idle")],
        setCursor: [(chart) => chart.root.classList.toggle("idle", chart.cursor.idx == null)],
        drawClear: [(chart) => drawSteps(chart, section.data.steps, first)],
      },
    };
  }

  // line says how a series is drawn: by its operation or component, or by what went wrong.
  function line(series, write) {
    const outcome = { failed: "trouble", rejected: "c1", "timed-out": "c3", dropped: "c6" }[series.outcome];
    return {
      label: series.name,
      stroke: colour(outcome || "c" + series.colour),
      width: 1.75,
      points: { size: 4 },
      value: (chart, v) => (v == null ? "" : write(v)),
    };
  }

  // drawSteps shades the steps behind the lines, and names them above the first chart.
  function drawSteps(chart, steps, named) {
    const { ctx, bbox } = chart;
    const ratio = uPlot.pxRatio;
    ctx.save();
    steps.forEach((step, i) => {
      const left = Math.max(bbox.left, chart.valToPos(step.start, "x", true));
      const right = Math.min(bbox.left + bbox.width, chart.valToPos(step.end, "x", true));
      if (right <= left) return;
      ctx.fillStyle = step.measured ? colour("band") : hatch(ctx, ratio);
      ctx.fillRect(left, bbox.top, right - left, bbox.height);
      ctx.fillStyle = colour("muted");
      ctx.globalAlpha = 0.5;
      ctx.fillRect(left, bbox.top - (named ? 12 * ratio : 0), ratio, bbox.height + (named ? 12 * ratio : 0));
      ctx.fillRect(right, bbox.top, ratio, bbox.height);
      ctx.globalAlpha = 1;
      if (named) nameStep(ctx, (i + 1) + " " + step.name, String(i + 1), left, right, bbox.top, ratio);
    });
    ctx.restore();
  }

  // nameStep writes the longest of the names that fits its step.
  function nameStep(ctx, long, short, left, right, top, ratio) {
    ctx.font = 12 * ratio + "px system-ui, sans-serif";
    ctx.textBaseline = "alphabetic";
    ctx.textAlign = "left";
    const name = [long, short].find((n) => ctx.measureText(n).width + 6 * ratio <= right - left);
    if (name) ctx.fillText(name, left + 4 * ratio, top - 5 * ratio);
  }

  function hatch(ctx, ratio) {
    const tile = document.createElement("canvas");
    tile.width = tile.height = 7 * ratio;
    const pen = tile.getContext("2d");
    pen.strokeStyle = colour("hatch");
    pen.lineWidth = ratio;
    pen.beginPath();
    for (const shift of [-1, 0, 1]) {
      pen.moveTo((shift - 0.1) * tile.width, 1.1 * tile.height);
      pen.lineTo((shift + 1.1) * tile.width, -0.1 * tile.height);
    }
    pen.stroke();
    return ctx.createPattern(tile, "repeat");
  }

  function steps() {
    return [1, 2, 5, 10, 20, 30, 60, 120, 300, 600, 1200, 1800, 3600, 7200, 14400, 21600, 43200, 86400];
  }

  function powersOfTwo() {
    return Array.from({ length: 50 }, (_, i) => 2 ** i);
  }

  function writeMoment(s) {
    const two = (n) => String(Math.floor(n)).padStart(2, "0");
    if (s < 60) return s + " s";
    if (s < 3600) return Math.floor(s / 60) + ":" + two(s % 60) + " min";
    return Math.floor(s / 3600) + ":" + two((s % 3600) / 60) + (s % 60 ? ":" + two(s % 60) : "") + " h";
  }

  function digits(v) {
    return Number(v.toPrecision(3)).toLocaleString("en-US");
  }

  function writeRate(v) {
    return digits(v) + "/s";
  }

  function writeCPUs(v) {
    return digits(v);
  }

  function writeBytes(v) {
    const units = ["B", "KiB", "MiB", "GiB", "TiB"];
    let unit = 0;
    for (; v >= 1024 && unit < units.length - 1; unit++) v /= 1024;
    return digits(v) + " " + units[unit];
  }

  function drawAll() {
    sections.forEach(draw);
  }

  // toPaper also opens what is closed: paper cannot be clicked.
  let opened = [];
  function toPaper(on) {
    if (on === onPaper) return;
    onPaper = on;
    if (on) opened = Array.from(document.querySelectorAll("details:not([open]):not(.stay)"));
    opened.forEach((details) => (details.open = on));
    document.documentElement.classList.toggle("paper", on);
    drawAll();
  }

  function redraw() {
    if (!onPaper) sections.filter((s) => s.element.clientWidth !== s.width).forEach(draw);
  }

  // Drawn in the next frame: a chart that is drawn while sizes are observed changes them again.
  const watcher = new ResizeObserver(() => requestAnimationFrame(redraw));
  drawAll();
  sections.forEach((s) => watcher.observe(s.element));
  matchMedia("(prefers-color-scheme: dark)").addEventListener("change", drawAll);
  addEventListener("beforeprint", () => toPaper(true));
  addEventListener("afterprint", () => toPaper(false));
})();
