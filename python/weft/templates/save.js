"use strict";
// Buttons below each chart that save it as SVG or PNG, and its rows as CSV.
const saveButtons = (() => {
  function download(name, address) {
    const link = document.createElement("a");
    link.download = name;
    link.href = address;
    link.click();
  }

  const asFile = (text, type) => URL.createObjectURL(new Blob([text], { type }));

  function csv(rows) {
    const columns = [...new Set(rows.flatMap((row) => Object.keys(row)))].filter((name) => !name.startsWith("Symbol("));
    const cell = (value) => {
      const text = value === null || value === undefined ? "" : typeof value === "object" ? JSON.stringify(value) : String(value);
      return /[",\n]/.test(text) ? `"${text.replaceAll('"', '""')}"` : text;
    };
    return [columns.join(","), ...rows.map((row) => columns.map((name) => cell(row[name])).join(","))].join("\n") + "\n";
  }

  // A saved picture has no page around it, from which it could take its colours.
  function standing(svg) {
    const style = getComputedStyle(document.body);
    return svg.replaceAll("currentColor", style.color).replaceAll("var(--paper)", style.backgroundColor);
  }

  async function png(svg) {
    const image = new Image();
    image.src = `data:image/svg+xml;charset=utf-8,${encodeURIComponent(svg)}`;
    await image.decode();
    const canvas = document.createElement("canvas");
    [canvas.width, canvas.height] = [2 * image.width, 2 * image.height];
    const context = canvas.getContext("2d");
    context.fillStyle = getComputedStyle(document.body).backgroundColor;
    context.fillRect(0, 0, canvas.width, canvas.height);
    context.drawImage(image, 0, 0, canvas.width, canvas.height);
    return canvas.toDataURL("image/png");
  }

  // `view` returns the chart that is shown, and `rows` its data.
  return (chart, view, rows) => {
    const figure = chart.closest("figure");
    if (figure.querySelector(":scope > .save")) return;
    const bar = document.createElement("p");
    bar.className = "save";
    const actions = {
      SVG: async () => download(`${chart.id}.svg`, asFile(standing(await view().toSVG()), "image/svg+xml")),
      PNG: async () => download(`${chart.id}.png`, await png(standing(await view().toSVG()))),
      CSV: async () => download(`${chart.id}.csv`, asFile(csv(rows()), "text/csv")),
    };
    for (const [name, save] of Object.entries(actions)) {
      const button = document.createElement("button");
      button.type = "button";
      button.textContent = name;
      button.title = `Save this chart as ${name}`;
      button.addEventListener("click", save);
      bar.append(button);
    }
    figure.append(bar);
  };
})();
