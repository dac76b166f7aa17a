"use strict";
// Lays out the comparison of groups. Each field has the role that the reader chooses, and the best value is named.
function compareGroups(data) {
  const at = (id) => document.getElementById(id);
  const ROLES = ["x", "colour", "line", "columns", "rows"];
  const SHAPES = ["circle", "square", "diamond", "cross", "triangle-right", "triangle-down"];
  const DASHES = [[1, 0], [6, 3], [2, 2], [8, 2, 2, 2]];
  const MAX_ANSWERS = 24;
  const MAX_LINES = 6;
  const MAX_NAMES = 4;
  const MIN_PANEL = 230;
  // Distance in pixels of marks beside each other, and the share of the distance of two values that they may take.
  const MAX_APART = 12;
  const SPREAD = 0.6;
  const ALL = -1;
  const factors = new Map(data.factors.map((factor, n) => [factor.name, { ...factor, n }]));
  const roles = { x: "", colour: "", line: "", columns: "", rows: "", ...data.layout.roles };
  const where = new Map(data.factors.map(({ name }) => [name, data.layout.where[name] ?? ALL]));
  const views = {};
  const shownRows = {};

  const short = (value) => String(+value.toPrecision(3));
  const range = (low, high) => `${short(low)} to ${short(high)}`;
  const valueIndex = (series, name) => (name ? data.series[series][factors.get(name).n] : 0);
  const label = (series, name) => (name ? factors.get(name).labels[valueIndex(series, name)] : "all");
  const named = (series, name) => (name ? `${name} = ${label(series, name)}` : "");
  const joined = (...parts) => parts.filter(Boolean).join(", ");
  const shown = (name) => factors.get(name).labels.filter((_, n) => [ALL, n].includes(where.get(name)));

  // A field without a role has one value at a time.
  function settle() {
    for (const name of factors.keys()) {
      const free = !ROLES.some((role) => roles[role] === name);
      if (free && where.get(name) === ALL) where.set(name, 0);
      const select = at(`where-${factors.get(name).n}`);
      select.options[0].disabled = free;
      select.value = where.get(name);
    }
    for (const role of ROLES) at(`role-${role}`).value = roles[role];
  }

  // Whether a series is shown. A figure with an axis of its own has one value of the field along the x axis.
  function chosen(series, ownAxis = false) {
    return data.factors.every(({ name }) => {
      const value = where.get(name);
      if (value === ALL && ownAxis && name === roles.x) return valueIndex(series, name) === factors.get(name).values.length - 1;
      return value === ALL || valueIndex(series, name) === value;
    });
  }

  function row(series, values) {
    const colour = valueIndex(series, roles.colour);
    return {
      panel: joined(named(series, roles.rows), named(series, roles.columns)) || " ",
      order: valueIndex(series, roles.rows) * 1e4 + valueIndex(series, roles.columns),
      colour: label(series, roles.colour),
      line: label(series, roles.line),
      series: joined(...data.factors.map(({ name }) => named(series, name))),
      turn: Math.floor(colour / data.colours.length),
      ...values,
    };
  }

  // Removes the intervals of many lines, which would hide each other.
  function thinned(rows) {
    const many = new Set(rows.map((it) => `${it.colour}/${it.line}`)).size > MAX_LINES;
    return many ? rows.map((it) => ({ ...it, low: null, high: null })) : rows;
  }

  // Fewer than five seeds have their values instead of an interval.
  function interval(median, low, high, n, isLowerBound, values = []) {
    const points = low === null && values.length > 1 ? values.map(([, value]) => value) : [];
    const text = low === null ? "none: fewer than five seeds" : range(low, high);
    return { median, low, high, points, interval: text, n, isLowerBound };
  }

  async function draw(id, template, rows, options) {
    const part = at(id).closest("figure");
    part.hidden = rows.length === 0;
    if (!rows.length) return;
    const spec = structuredClone(data.templates[template]);
    const panels = [...new Map([...rows].sort((a, b) => a.order - b.order).map((it) => [it.panel, it])).keys()];
    const left = options.left;
    const full = at(id).clientWidth;
    const wish = roles.columns ? shown(roles.columns).length : 1;
    const fit = Math.max(1, Math.floor((full - left) / MIN_PANEL));
    const columns = Math.min(panels.length, wish <= fit ? wish : roles.rows || wish > 3 * fit ? 1 : fit);
    const width = Math.floor((full - left - 24 * columns) / columns);
    spec.columns = columns;
    spec.facet.sort = panels;
    if (panels.length === 1 && panels[0] === " ") spec.facet.header = { labels: false, title: null };
    const colours = roles.colour ? factors.get(roles.colour).labels : ["all"];
    const lines = roles.line ? factors.get(roles.line).labels : ["all"];
    const turns = Math.max(...rows.map((it) => it.turn));
    // Few seeds have no intervals, and a scale of no values is an error.
    const intervals = rows.some((it) => it.low !== null);
    const without = new Set([intervals ? "" : "low", rows.some((it) => it.points.length) ? "" : "points"]);
    spec.spec.layer = spec.spec.layer.filter(({ encoding: { x, y } }) => ![x, y].some((it) => it && without.has(it.field)));
    for (const layer of spec.spec.layer) {
      const { encoding } = layer;
      if (encoding.color) {
        encoding.color.scale = { domain: colours, range: colours.map((_, n) => data.colours[n % data.colours.length]) };
        if (encoding.color.legend) encoding.color.legend = legend(shownOf("colour", colours), roles.colour, full);
      }
      if (encoding.strokeDash) {
        encoding.strokeDash.scale = { domain: lines, range: lines.map((_, n) => DASHES[n % DASHES.length]) };
        encoding.strokeDash.legend = options.shapes ? null : legend(shownOf("line", lines), roles.line, full);
      }
      if (encoding.shape) {
        const marks = [...SHAPES.keys()].map(String);
        encoding.shape.scale = { domain: [...marks, "more"], range: [...SHAPES, "triangle-up"] };
        if (options.shapes) encoding.shape.legend = legendOfShapes(shownOf("line", lines), lines, full);
      }
      options.adapt(encoding, { colours: shownOf("colour", colours), lines: shownOf("line", lines), width });
      if (encoding.xOffset) {
        const side = shownOf("colour", colours);
        encoding.xOffset.scale = { domain: side };
        encoding.x.scale = { type: "band", ...besideEachOther(side.length, width / encoding.x.sort.length) };
      }
    }
    spec.spec.width = width;
    spec.spec.height = options.height;
    spec.datasets = { rows };
    spec.background = "transparent";
    spec.description = options.description;
    if (views[id]) views[id].finalize();
    views[id] = await vegaEmbed(at(id), spec, { renderer: "svg", actions: false });
    shownRows[id] = rows;
    saveButtons(at(id), () => views[id].view, () => shownRows[id].map(({ order, turn, ...it }) => it));
    at(`${id}-caption`).textContent = options.description + (turns ? " Colours repeat with other marks." : "");
  }

  // The paddings of an axis on which marks of one value stand beside each other, nearer to it than to the next value.
  function besideEachOther(count, step) {
    const paddingInner = 1 - Math.min(SPREAD, (MAX_APART * count) / step);
    return { paddingInner, paddingOuter: paddingInner / 2 };
  }

  // A legend of as few rows as the page has room for, of equal length; none for one value.
  function legend(values, title, width) {
    if (values.length < 2) return null;
    const longest = Math.max(...values.map((it) => it.length));
    const fit = Math.max(1, Math.min(values.length, Math.floor(width / (50 + 7 * longest))));
    // No row has one value alone if the others can be spread.
    const columns = Math.ceil(values.length / Math.ceil(values.length / fit));
    return { title, values, columns, symbolType: "stroke", symbolOpacity: 1, symbolStrokeWidth: 2, titleOrient: "top" };
  }

  // A legend of the marks of the lines, whose names are not values of the scale.
  function legendOfShapes(values, lines, width) {
    const found = legend(values, roles.line, width);
    if (found === null) return null;
    const { symbolType, ...rest } = found;
    const labelExpr = `${JSON.stringify(lines)}[toNumber(datum.value)]`;
    return { ...rest, values: values.map((it) => String(lines.indexOf(it))), labelExpr, symbolStrokeColor: "currentColor" };
  }

  const shownOf = (role, all) => (roles[role] ? shown(roles[role]) : all);

  // The scale of values: logarithmic where they differ by more than a factor of ten.
  function scaleOf(rows) {
    const medians = rows.map((it) => it.median);
    const [least, most] = [Math.min(...medians), Math.max(...medians)];
    const drawn = rows.flatMap((it) => (it.low === null ? [it.median, ...it.points] : [it.low, it.high]));
    const [lowest, highest] = [Math.min(...drawn), Math.max(...drawn)];
    if (!(least > 0 && most > 10 * least)) {
      // One long interval would press the others into a line.
      if (lowest > 0 && highest > 10 * lowest) return { type: "log", nice: false, domain: [lowest / 1.1, highest * 1.1] };
      if (lowest === highest) return { domain: lowest ? [Math.min(0, lowest), Math.max(0, lowest)] : [0, 1] };
      return { zero: false, nice: true, domain: [lowest, highest] };
    }
    // A wide interval around one median must not hide the differences between the others: it is clipped.
    return { type: "log", nice: false, domain: [least / 2, 2 * most] };
  }

  const LEVEL = `${Math.round(100 * data.confidence)} %`;
  function method(rows) {
    const small = rows.some((it) => it.points.length) ? ", and small dots the values of fewer than five" : "";
    const bars = rows.some((it) => it.low !== null) ? `, bars their ${LEVEL} confidence intervals (order statistics)` : "";
    return rows.some((it) => it.n > 1) ? `Marks are medians over the seeds${bars}${small}.` : "One seed: no intervals.";
  }
  const CUT = " A triangle may be higher: the run's end cut off flows.";

  async function showMetric() {
    const metric = data.metrics[at("metric").selectedIndex];
    const rows = [];
    for (const [series, median, low, high, n, isLowerBound] of metric.rows) {
      if (!chosen(series)) continue;
      const it = row(series, interval(median, low, high, n, isLowerBound, metric.values[series]));
      const level = roles.x ? valueIndex(series, roles.colour) : valueIndex(series, roles.line) + it.turn * DASHES.length;
      it.label = `${isLowerBound ? "≥ " : ""}${short(median)}`;
      it.mark = isLowerBound ? "more" : String(level % SHAPES.length);
      if (roles.x) it.x = factors.get(roles.x).values[valueIndex(series, roles.x)];
      rows.push(it);
    }
    const scale = scaleOf(rows);
    const description = `${metric.title}. ${method(rows)}${rows.some((it) => it.isLowerBound) ? CUT : ""}`;
    if (roles.x) {
      const domain = factors.get(roles.x).values;
      await draw("compared-chart", "lines", rows, {
        left: 70, height: 240, description,
        adapt: (encoding, { width }) => {
          const longest = Math.max(...domain.map((it) => String(it).length));
          const labelAngle = 7 * longest + 8 < width / domain.length ? 0 : -30;
          encoding.x = { ...encoding.x, title: roles.x, sort: domain, axis: { ...encoding.x.axis, labelAngle } };
          Object.assign(encoding.y, { title: metric.axis, scale });
        },
      });
    } else {
      const longest = Math.max(...rows.map((it) => it.colour.length), 3);
      const count = new Set(rows.map((it) => it.colour)).size;
      const step = 10 + 24 * new Set(rows.map((it) => it.line)).size;
      await draw("compared-chart", "dots", rows, {
        left: Math.min(150, 16 + 7 * longest), height: Math.max(40, count * step), description, shapes: true,
        adapt: (encoding, { colours, lines }) => {
          encoding.y.sort = colours;
          encoding.yOffset.sort = lines;
          Object.assign(encoding.x, { title: metric.axis, scale });
        },
      });
    }
    showAnswer(metric);
  }

  function showSizes(percentile) {
    const id = `by-size-${percentile}`;
    const all = [];
    for (const [series, size, of, median, low, high, n, isLowerBound] of data.sizes.rows) {
      if (of !== percentile || !chosen(series, true)) continue;
      const it = row(series, interval(median, low, high, n, isLowerBound));
      it.mark = isLowerBound ? "more" : String(valueIndex(series, roles.colour) % SHAPES.length);
      it.x = data.sizes.labels[size];
      all.push(it);
    }
    const rows = thinned(all);
    const scale = scaleOf(rows);
    const title = percentile === "p50" ? "Median slowdown" : "p99 slowdown";
    return draw(id, "lines", rows, {
      left: 60, height: 200,
      description: `${title} by size of flow. ${method(rows)}${rows.some((it) => it.isLowerBound) ? CUT : ""}${atX()}`,
      adapt: (encoding) => {
        encoding.x = { ...encoding.x, title: "size of flow", sort: data.sizes.labels };
        encoding.x.axis = { ...encoding.x.axis, labelAngle: -30 };
        Object.assign(encoding.y, { title: title.toLowerCase(), scale });
      },
    });
  }

  function showDistribution() {
    const all = [];
    for (const [series, x, median, low, high] of data.cdf.rows) {
      if (chosen(series, true)) all.push(row(series, { ...interval(median, low, high, 0, 0), x }));
    }
    const rows = thinned(all);
    const bands = rows.some((it) => it.low !== null) ? ", with confidence intervals over the seeds, time by time" : "";
    return draw("cdf", "cdf", rows, {
      left: 60, height: 220,
      description: `Share of all flows that have ended within a time${bands}.${atX()}`,
      adapt: (encoding, { width }) => {
        encoding.x.title = data.cdf.axis;
        encoding.x.axis = { tickCount: Math.max(2, Math.floor(width / 70)), labelOverlap: "greedy" };
      },
    });
  }

  const atX = () => {
    if (!roles.x || where.get(roles.x) !== ALL) return "";
    return ` At ${roles.x} = ${factors.get(roles.x).labels.at(-1)}; choose another value above.`;
  };

  function showAnswer(metric) {
    const part = at("answer");
    // Without colours, the values along the x axis are compared.
    const compared = roles.colour || roles.x;
    const labelOf = (series) => (roles.colour ? label(series, compared) : named(series, compared));
    const situations = new Map();
    const situation = (series) => {
      const names = [roles.rows, roles.columns, roles.x, roles.line].filter((name) => name !== compared);
      const key = joined(...names.map((name) => named(series, name)));
      const order = names.reduce((sum, name) => sum * 1000 + valueIndex(series, name), 0);
      if (!situations.has(key)) situations.set(key, { order, entries: [], missing: [] });
      return situations.get(key);
    };
    for (const [series, median, low, high, , isLowerBound] of metric.rows) {
      if (!chosen(series)) continue;
      situation(series).entries.push({ series, label: labelOf(series), median, low, high, isLowerBound });
    }
    // The best of the others might not be the best of all.
    for (const series of metric.missing) {
      if (chosen(series)) situation(series).missing.push(labelOf(series));
    }
    const all = [...situations].filter(([, { entries, missing }]) => entries.length && entries.length + missing.length > 1)
      .sort(([, a], [, b]) => a.order - b.order);
    part.hidden = !compared || !metric.best || all.length === 0;
    if (part.hidden) return;
    at("answer-title").textContent = `${metric.best === "lowest" ? "Lowest" : "Highest"} ${metric.title}`;
    const unit = metric.unit ? ` ${metric.unit}` : "";
    const value = (it) => `${it.isLowerBound ? "≥ " : ""}${short(it.median)}${unit}`;
    const answerOf = (entries, missing) => {
      if (missing.length) return { best: null, words: ["none", "", "", `not comparable: ${missing.join(", ")} (no value)`] };
      const { best, next, close, few } = bestOf(entries, metric.values, metric.best, data.positions);
      let sure = `${metric.best === "highest" ? "above" : "below"} every other (${LEVEL})`;
      if (few) sure = "unknown: fewer than five seeds";
      else if (close.length > 1 && close.length === entries.length - 1) sure = "not separable from any other";
      else if (close.length > MAX_NAMES) sure = `not separable from ${close.length} of ${entries.length - 1} others`;
      else if (close.length) sure = `not separable from ${close.map((it) => it.label).join(", ")}`;
      if (best.isLowerBound && metric.best === "lowest") sure += "; may be higher";
      const bounds = best.low === null ? "" : ` (${range(best.low, best.high)})`;
      return { best, words: [best.label, value(best) + bounds, joined(...(roles.colour ? [`${next.label} ${value(next)}`] : [next.label, value(next)])), sure] };
    };
    at("answers").replaceChildren(...all.slice(0, MAX_ANSWERS).map(([key, { entries, missing }]) => {
      const { best, words } = answerOf(entries, missing);
      // On small screens the rows are blocks, which would not be a table to screen readers without roles.
      const tr = document.createElement("tr");
      tr.setAttribute("role", "row");
      const cells = [key || "all runs", ...words];
      cells.forEach((text, n) => {
        const cell = document.createElement(n ? "td" : "th");
        cell.setAttribute("role", n ? "cell" : "rowheader");
        if (n === 0) cell.scope = "row";
        if (n === 1 && best && roles.colour) {
          const dot = document.createElement("span");
          dot.className = "dot";
          dot.style.background = data.colours[valueIndex(best.series, roles.colour) % data.colours.length];
          cell.append(dot);
        }
        cell.append(text);
        tr.append(cell);
      });
      return tr;
    }));
    at("more-answers").textContent = all.length > MAX_ANSWERS ? `And ${all.length - MAX_ANSWERS} more; choose values above.` : "";
  }

  // The layout is a part of the page's address, so that a link or a bookmark opens it again.
  const ADDRESS = "#layout&";
  function readAddress() {
    if (!location.hash.startsWith(ADDRESS)) return;
    const stated = new URLSearchParams(location.hash.slice(ADDRESS.length));
    const metric = data.metrics.findIndex(({ title }) => title === stated.get("metric"));
    if (metric >= 0) at("metric").selectedIndex = metric;
    if (stated.has("metric")) {
      for (const role of ROLES) roles[role] = factors.has(stated.get(role)) ? stated.get(role) : "";
    }
    for (const { name, labels } of factors.values()) {
      const value = stated.get(`where.${name}`);
      if (value !== null) where.set(name, labels.indexOf(value));
    }
  }

  function writeAddress() {
    const stated = new URLSearchParams({ metric: data.metrics[at("metric").selectedIndex].title });
    for (const role of ROLES) if (roles[role]) stated.set(role, roles[role]);
    for (const [name, value] of where) if (value !== ALL) stated.set(`where.${name}`, factors.get(name).labels[value]);
    try {
      history.replaceState(null, "", ADDRESS + stated);
    } catch {
      // Some browsers refuse this for files.
    }
  }

  async function change() {
    await show();
    writeAddress();
  }

  async function show() {
    settle();
    await showMetric();
    if (data.sizes) for (const percentile of ["p99", "p50"]) await showSizes(percentile);
    if (data.cdf) await showDistribution();
  }

  for (const role of ROLES) {
    at(`role-${role}`).addEventListener("change", (event) => {
      const name = event.target.value;
      for (const other of ROLES) if (name && roles[other] === name) roles[other] = "";
      roles[role] = name;
      if (name) where.set(name, ALL);
      change();
    });
  }
  for (const { name, n } of factors.values()) {
    at(`where-${n}`).addEventListener("change", (event) => {
      where.set(name, Number(event.target.value));
      change();
    });
  }
  at("metric").addEventListener("change", async () => { await showMetric(); writeAddress(); });
  let width = window.innerWidth;
  let later = 0;
  window.addEventListener("resize", () => {
    if (window.innerWidth === width) return;
    width = window.innerWidth;
    clearTimeout(later);
    later = setTimeout(show, 150);
  });
  readAddress();
  return show();
}
