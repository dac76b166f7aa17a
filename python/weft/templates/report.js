"use strict";
// Fills the plots of weft's report with the rows of the run, the scene and the time that are chosen.
(async () => {
  const page = JSON.parse(document.getElementById("data").textContent);
  const at = (id) => document.getElementById(id);
  const views = {};
  const VALUES = { windows: "cwnd_packets", queues: "length_packets", buffers: "buffer_bytes", losses: "count", counts: "count" };
  const SERIES = Object.keys(VALUES);

  // Draws a plot, or puts other rows into it. A legend without a value has no height, so rows are there from the start.
  async function draw(name, datasets = {}, signals = {}) {
    if (!views[name]) {
      const spec = { ...page.charts[name], datasets: { ...page.charts[name].datasets, ...datasets } };
      // The room for labels is that of the first labels.
      if (spec.params) spec.params = spec.params.map((it) => (it.name in signals ? { ...it, value: signals[it.name] } : it));
      const { view } = await vegaEmbed(at(name), spec, { renderer: "svg", actions: false });
      views[name] = view;
      saveButtons(at(name), () => views[name], () => rowsOf(name));
    }
    for (const [dataset, values] of Object.entries(datasets)) views[name].data(dataset, values);
    for (const [signal, value] of Object.entries(signals)) views[name].signal(signal, value);
    await views[name].runAsync();
  }

  // The rows that a plot shows: those of the run's data, or those that are a part of the plot.
  function rowsOf(name) {
    if (rows && rows[name]) return rows[name];
    if (name === "fabric") return views.fabric.data("links").map(({ name: link, utilisation, count }) => ({ link, utilisation, count }));
    const inner = (part) => (part && typeof part === "object" ? [part.values, ...Object.values(part).flatMap(inner)] : []);
    return inner(page.charts[name]).filter((values) => Array.isArray(values) && values.length && typeof values[0] === "object")
      .sort((one, other) => other.length - one.length)[0] ?? [];
  }

  const seconds = (value) => {
    const size = Math.abs(value);
    if (size >= 1 || size === 0) return `${+value.toPrecision(7)} s`;
    return size >= 1e-3 ? `${+(value * 1e3).toPrecision(7)} ms` : `${+(value * 1e6).toPrecision(7)} us`;
  };

  // The unit in which steps of a scale are short numbers.
  function unitOf(width) {
    const [unit, suffix] = width >= 1 ? [1, "s"] : width >= 1e-3 ? [1e-3, "ms"] : [1e-6, "us"];
    return { unit, suffix };
  }

  // Columns of a table as objects, with the names that its series' numbers stand for.
  function objects(table) {
    if (!table) return [];
    const names = Object.keys(table.rows);
    return table.rows[table.by].map((_, row) => {
      const object = {};
      for (const name of names) object[name] = table.rows[name][row];
      object[table.by] = table.names[object[table.by]];
      return object;
    });
  }

  function fill(select, names, labels = names) {
    const before = select.value;
    select.replaceChildren(...names.map((name, n) => new Option(labels[n], name)));
    if (names.map(String).includes(before)) select.value = before;
  }

  let run, scene, rows;

  // What held at a time: of each series the last row until then.
  function holding(name, now) {
    const last = new Map();
    const by = scene[name] && scene[name].by;
    for (const row of rows[name]) {
      if (row.time_s > now) break;
      last.set(row[by], row);
    }
    return [...last.entries()].sort(([one], [other]) => one.localeCompare(other, "en", { numeric: true }));
  }

  function largest(name) {
    return rows[name].reduce((most, row) => Math.max(most, row[VALUES[name]]), 1);
  }

  function said(name, row) {
    if (name === "windows") return `${row.cwnd_packets} packets${row.active ? "" : ", suppressed"}`;
    if (name === "queues") return `${row.length_packets} packets`;
    return name === "buffers" ? `${row.buffer_bytes} B` : `${row.count}`;
  }

  async function showTime() {
    const slider = at("now");
    const width = scene.high - scene.low;
    const now = scene.low + (width * slider.value) / scene.steps;
    const shown = width / at("zoom").value;
    const low = Math.min(Math.max(scene.low, now - shown / 2), scene.high - shown);
    const readings = [];
    const words = [];
    for (const name of SERIES) {
      // Times are rounded to a millionth of the scene.
      for (const [series, row] of holding(name, now + width * 1e-6)) {
        const tr = document.createElement("tr");
        const head = document.createElement("th");
        head.scope = "row";
        head.textContent = { queues: `queue ${series}`, buffers: `buffer of ${series}` }[name] ?? series;
        tr.append(head);
        for (const text of [said(name, row), seconds(row.time_s)]) {
          const cell = document.createElement("td");
          cell.className = "number";
          cell.textContent = text;
          tr.append(cell);
        }
        readings.push(tr);
        words.push(`${head.textContent}: ${said(name, row)}`);
      }
    }
    if (!readings.length) {
      const tr = document.createElement("tr");
      const cell = document.createElement("td");
      cell.colSpan = 3;
      cell.className = "faint";
      cell.textContent = "no sample until this time";
      tr.append(cell);
      readings.push(tr);
    }
    at("readings").replaceChildren(...readings);
    at("time").textContent = seconds(now);
    slider.setAttribute("aria-valuetext", [seconds(now), ...words].join("; "));
    const queued = holding("queues", now + width * 1e-6).map(([series, row]) => {
      const [x, y] = run.heads[series];
      return { name: series, x, y, length: row.length_packets };
    });
    await Promise.all([
      ...SERIES.filter((name) => scene[name]).map((name) => draw(name, {}, { low, high: low + shown, now })),
      draw("fabric", { queued }),
    ]);
  }

  async function showScene() {
    scene = run.scenes[at("scene").value];
    at("timeline").hidden = !scene;
    at("nothing").hidden = Boolean(scene);
    if (!scene) return;
    rows = {};
    for (const name of SERIES) {
      rows[name] = objects(scene[name]).sort((one, other) => one.time_s - other.time_s);
      at(`${name}-part`).hidden = !scene[name];
      if (!scene[name]) continue;
      const datasets = { [name]: rows[name], events: run.events };
      if (name === "windows") datasets.spans = objects(scene.spans);
      if (name === "queues") datasets.mark = run.mark === null ? [] : [{ mark: run.mark }];
      await draw(name, datasets, {
        top: 1.05 * largest(name), low: scene.low, high: scene.high, ...unitOf(scene.high - scene.low),
      });
    }
    await draw("fabric", {}, { longest: largest("queues") });
    at("now").max = scene.steps;
    at("now").value = Math.min(at("now").value, scene.steps);
    await showTime();
  }

  async function showHeat() {
    const heat = at("heat").value;
    const measured = run.fabric.links.filter((link) => link[heat] !== null);
    const most = measured.reduce((so, link) => Math.max(so, link[heat]), 0) || 1;
    const hottest = Math.max(most, page.full[heat]);
    const links = measured.map((link) => ({ ...link, heat: link[heat] / hottest }));
    const { nodes, tiers } = run.fabric;
    const [thin, thick] = links.length > 300 ? [0.6, 1.4] : [1, 3];
    await draw("fabric", { links, nodes, crosses: run.crosses }, { tiers, highest: tiers.length - 0.6, hottest, thin, thick });
  }

  async function showRun() {
    const number = at("run") ? Number(at("run").value) : 0;
    run = page.runs[number];
    document.querySelectorAll(".of-run").forEach((part, n) => { part.hidden = n !== number; });
    document.querySelectorAll(".of-job").forEach((part) => { part.hidden = Number(part.dataset.run) !== number; });
    fill(at("heat"), run.fabric.heats, run.fabric.heats.map((heat) => page.heats[heat]));
    fill(at("scene"), Object.keys(run.scenes), run.scenes.map((it) => it.about));
    if (run.scenes.length) at("scene").value = run.first;
    await showHeat();
    await showScene();
  }

  for (const name of ["fct", "slowdown", "utilisation", "jain"]) {
    if (page.charts[name]) await draw(name);
  }
  if (page.comparison) await compareGroups(page.comparison);
  await showRun();
  if (at("run")) at("run").addEventListener("change", showRun);
  at("heat").addEventListener("change", showHeat);
  at("scene").addEventListener("change", () => { at("now").value = 0; return showScene(); });
  at("zoom").addEventListener("change", showTime);
  at("now").addEventListener("input", showTime);
  document.body.dataset.ready = "yes";
})();
