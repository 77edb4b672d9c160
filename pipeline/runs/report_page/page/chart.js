// One chart: curves over the shared x axis. It is drawn when it comes into view. What the mouse and keys do is in
// chart_input.js.
//
// A chart is made of {id, title, series, format?, reading?, stacked?, log?, marks?, from0?, unit?}; a series of
//   {name, label?, run, colour, iter, mean, low?, high?, points?, smooth?, dash?, thin?}: values at iterations; `low`
//   and `high` make a band; `smooth` adds a smoothed curve ("alone": in place of the values); `points` draws dots.
// `format` is for the axis, `reading` for the values beside it.
// Marks {run, iter, value, text} are stars; events of the run are on every axis.

const glyphs = {resume: '↻', lr: '↓', snapshot: '◆', nonfinite: '!', skipped: '×'};
const eventNames = {resume: 'resumed', lr: 'learning rate falls', snapshot: 'snapshot', nonfinite: 'not finite',
                    skipped: 'update skipped'};

function eventText(event) {
  const at = ` at iteration ${count(event.iter)}`;
  if (event.kind === 'lr') return `learning rate ${number(event.from)} → ${number(event.to)}${at}`;
  if (event.kind === 'nonfinite') return `loss or gradient not finite (${event.recovery || 'stopped'})${at}`;
  return (eventNames[event.kind] || event.kind) + at;
}

/** Means over neighbours, nearer ones count more. */
function smoothed(values, percentOfPoints) {
  const reach = Math.round(values.length * percentOfPoints / 100);
  if (reach < 1) return values;
  return values.map((value, i) => {
    if (!isNumber(value)) return null;
    let sum = 0, weight = 0;
    for (let j = Math.max(0, i - reach); j <= Math.min(values.length - 1, i + reach); ++j) {
      if (!isNumber(values[j])) continue;
      const w = 1 - Math.abs(i - j) / (reach + 1);
      sum += w * values[j];
      weight += w;
    }
    return sum / weight;
  });
}

class Chart {
  constructor(spec) {
    this.id = spec.id;
    this.spec = spec;
    this.legend = el('ul', {class: 'legend'});
    this.area = el('div', {class: 'plot'});
    this.line = el('div', {class: 'cursor', hidden: true});
    this.band = el('div', {class: 'zoom', hidden: true});
    this.box = el('div', {class: 'plotbox', tabindex: 0, role: 'application',
                          'aria-roledescription': 'chart', 'aria-label': spec.title + ', chart. ' +
                          'Arrows move the cursor, plus and minus zoom, zero shows all.'},
                  this.area, this.line, this.band);
    this.values = el('details', {class: 'values', ontoggle: () => this.fillValues()}, el('summary', {}, 'Values'));
    this.element = el('figure', {class: 'chart' + (spec.wide ? ' wide' : ''), id: 'chart-' + spec.id},
                      el('figcaption', {}, el('h3', {}, spec.title),
                         spec.unit && el('span', {class: 'unit'}, spec.unit)),
                      this.legend, this.box, this.values);
    listenTo(this);
    this.fillLegend();
  }

  set(spec) {
    this.spec = spec;
    if (this.plot) this.draw();
    this.fillLegend();
    this.fillValues();
  }

  /** The curves to be drawn: a smoothed one beside each that asks for it. */
  curves() {
    const curves = [];
    for (const series of this.spec.series) {
      if (series.smooth && shared.smoothing > 0) {
        if (series.smooth !== 'alone') curves.push({...series, faint: true});
        curves.push({...series, low: null, high: null, mean: smoothed(series.mean, shared.smoothing)});
      } else {
        curves.push(series);
      }
    }
    return curves;
  }

  /** Rows of the plotter: [x, [low, mean, high], …], in the order of x. */
  rows(curves) {
    const rows = new Map();
    curves.forEach((curve, column) => {
      const axis = curve.run.axes[shared.axis];
      curve.iter.forEach((iter, i) => {
        const x = axis(iter);
        if (!isNumber(x) || !isNumber(curve.mean[i])) return;
        if (!rows.has(x)) rows.set(x, [x, ...curves.map(() => this.spec.stacked ? 0 : null)]);
        let low = curve.low ? curve.low[i] : curve.mean[i];
        const mean = curve.mean[i], high = curve.high ? curve.high[i] : mean;
        if (this.isLog() && low <= 0) low = mean;
        rows.get(x)[column + 1] = this.spec.stacked ? mean : [low, mean, high];
      });
    });
    return [...rows.values()].sort((a, b) => a[0] - b[0]);
  }

  isLog() {
    return shared.log && !this.spec.stacked && this.spec.log !== false &&
      this.spec.series.every(series => series.mean.every(value => !isNumber(value) || value > 0));
  }

  draw() {
    if (!this.seen) return;
    const curves = this.curves();
    const rows = this.rows(curves);
    this.shown = curves.map(curve => !shared.hidden.has(curve.name));
    if (rows.length === 0) return;
    this.drawnCurves = curves;
    this.drawnRows = rows;
    const style = getComputedStyle(document.documentElement);
    const format = this.spec.format || number;
    const labels = ['x', ...curves.map((curve, i) => `${i}`)];
    const series = {};
    curves.forEach((curve, i) => {
      series[`${i}`] = {
        color: colourOf(curve.colour) + (curve.faint ? '77' : ''),
        strokeWidth: curve.faint ? 1 : curve.thin ? 1.2 : 2,
        strokePattern: curve.dash ? dashes[curve.dash % dashes.length] : null,
        drawPoints: Boolean(curve.points), pointSize: 3,
      };
    });
    const options = {
      file: rows, labels, series,
      customBars: !this.spec.stacked, stackedGraph: Boolean(this.spec.stacked),
      fillAlpha: this.spec.stacked ? 0.55 : 0.25,
      connectSeparatedPoints: true, logscale: this.isLog(), visibility: this.shown,
      dateWindow: shared.range || wholeRange(shared.runs),
      includeZero: Boolean(this.spec.from0), legend: 'never', highlightCircleSize: 0, interactionModel: {},
      axisLineColor: style.getPropertyValue('--line').trim(), gridLineColor: style.getPropertyValue('--grid').trim(),
      axisLabelFontSize: 12, axisLineWidth: 1, gridLineWidth: 1, yRangePad: 6, rightGap: 10, digitsAfterDecimal: 4,
      axes: {
        x: {pixelsPerLabel: this.area.clientWidth < 400 ? 40 : 60, axisLabelFormatter: x => this.xLabel(x),
            drawGrid: false},
        y: {axisLabelWidth: 58, pixelsPerLabel: 28, axisLabelFormatter: y => format(y)},
      },
      underlayCallback: (context, area, plot) => this.drawEvents(context, area, plot),
      drawCallback: () => this.showCursor(),
    };
    if (this.plot) {
      this.plot.updateOptions(options);
    } else {
      const {file, ...rest} = options;
      this.plot = new Dygraph(this.area, file, rest);
    }
    this.fillLegend();
  }

  xLabel(x) {
    if (x < 0) return '';
    if (Math.abs(x) >= 1e6) return Number((x / 1e6).toPrecision(4)) + 'M';
    return Math.abs(x) >= 1e4 ? Number((x / 1e3).toPrecision(4)) + 'k' : number(Number(x.toPrecision(6)));
  }

  /** Events as glyphs on the axis; what changes training has a line, too. Stars mark the best values. */
  drawEvents(context, area, plot) {
    const style = getComputedStyle(document.documentElement);
    context.save();
    context.font = '12px system-ui, sans-serif';
    context.textAlign = 'center';
    const several = shared.runs.length > 1;
    for (const run of new Set(this.spec.series.map(series => series.run))) {
      if (several && shared.hidden.has(run.label)) continue;
      const taken = {};
      for (const event of run.events) {
        if (!glyphs[event.kind] || (several && event.kind === 'snapshot')) continue;
        const x = plot.toDomXCoord(run.axes[shared.axis](event.iter));
        if (!(x >= area.x && x <= area.x + area.w)) continue;
        if (taken[event.kind] !== undefined && x - taken[event.kind] < 14) continue;  // one glyph for a crowd
        taken[event.kind] = x;
        const colour = several ? colourOf(run.index) :
          style.getPropertyValue(event.kind === 'nonfinite' ? '--bad' : '--muted').trim();
        context.fillStyle = context.strokeStyle = colour;
        if (event.kind !== 'snapshot' && !several) {
          context.setLineDash([3, 4]);
          context.beginPath();
          context.moveTo(x, area.y + 15);
          context.lineTo(x, area.y + area.h);
          context.stroke();
        }
        const snapshot = event.kind === 'snapshot';
        context.globalAlpha = snapshot ? 0.6 : 1;
        context.fillText(glyphs[event.kind], x, snapshot ? area.y + area.h - 2 : area.y + 11);
        context.globalAlpha = 1;
      }
    }
    context.font = '16px system-ui, sans-serif';
    for (const mark of this.spec.marks || []) {
      if (shared.hidden.has(mark.name)) continue;
      context.fillStyle = style.getPropertyValue('--star').trim();
      const x = plot.toDomXCoord(mark.run.axes[shared.axis](mark.iter)), y = plot.toDomYCoord(mark.value);
      if (x >= area.x && x <= area.x + area.w) context.fillText('★', x, y - 6 < area.y + 8 ? y + 18 : y - 6);
    }
    context.restore();
  }

  /** The row that is nearest to x. */
  nearest(x) {
    const rows = this.drawnRows;
    let low = 0, high = rows.length - 1;
    while (low < high) {
      const middle = (low + high) >> 1;
      if (rows[middle][0] < x) low = middle + 1; else high = middle;
    }
    return low > 0 && x - rows[low - 1][0] < rows[low][0] - x ? low - 1 : low;
  }

  /** A curve's value at or before x: [low, mean, high], or null. */
  valueAt(column, x) {
    const rows = this.drawnRows;
    for (let i = this.nearest(x), steps = 0; i >= 0 && steps < 2000; --i, ++steps) {
      const cell = rows[i][column + 1];
      if (cell === null) continue;
      return Array.isArray(cell) ? cell : [cell, cell, cell];
    }
    return null;
  }

  showCursor() {
    if (!this.plot || !this.drawnRows) return;
    const x = shared.cursor;
    const area = this.plot.getArea();
    const at = x === null ? -1 : this.plot.toDomXCoord(x);
    this.line.hidden = !(at >= area.x && at <= area.x + area.w);
    this.line.style.transform = `translateX(${at}px)`;
    this.line.style.top = area.y + 'px';
    this.line.style.height = area.h + 'px';
    this.fillReadings();
  }

  fillLegend() {
    const several = this.spec.series.length > 1;
    this.readings = new Map();
    this.legend.replaceChildren(...this.spec.series.map(series => {
      const reading = el('span', {class: 'reading'});
      this.readings.set(series, reading);
      const on = !shared.hidden.has(series.name);
      const key = swatch(series);
      return el('li', {}, several ?
        el('button', {type: 'button', class: 'key', 'aria-pressed': String(on), onclick: () => {
          toggleSeries(series.name);
        }}, key, series.label || series.name) : el('span', {class: 'key'}, key, series.label || series.name), reading);
    }), ...(this.spec.marks || []).slice(0, 3).map(mark =>
      el('li', {class: 'best'}, el('span', {'aria-hidden': 'true'}, '★ '), mark.text)));
    this.place = el('li', {class: 'place'});
    this.legend.append(this.place);
    this.fillReadings();
  }

  fillReadings() {
    const format = this.spec.reading || this.spec.format || number, x = shared.cursor;
    let column = 0;
    const curves = this.drawnCurves || [];
    for (const series of this.spec.series) {
      const reading = this.readings.get(series);
      if (!reading) continue;
      let cell = null;
      if (x !== null && this.drawnRows) {
        column = curves.findIndex(curve => curve.name === series.name && curve.run === series.run);
        cell = column >= 0 ? this.valueAt(column, x) : null;
      }
      if (x !== null && !cell) {
        reading.textContent = '–';
      } else if (cell) {
        const band = cell[2] > cell[0] ? ` (${format(cell[0])} … ${format(cell[2])})` : '';
        reading.textContent = format(cell[1]) + band;
      } else {
        const last = [...series.mean].reverse().find(isNumber);
        reading.textContent = last === undefined ? '' : format(last);
      }
    }
    this.place.textContent = x === null ? '' : 'at ' + placeOnAxis(x) + this.eventAt(x);
  }

  /** The event under the cursor, in words. */
  eventAt(x) {
    if (!this.plot) return '';
    for (const run of new Set(this.spec.series.map(series => series.run)))
      for (const event of run.events)
        if (glyphs[event.kind] && Math.abs(this.plot.toDomXCoord(run.axes[shared.axis](event.iter)) -
                                           this.plot.toDomXCoord(x)) < 4) return ' · ' + eventText(event);
    return '';
  }

  /** The same in numbers, for whoever does not see curves. */
  fillValues() {
    if (!this.values.open) return;
    const format = this.spec.reading || this.spec.format || number;
    const rows = this.spec.series.map(series => {
      const values = series.mean.filter(isNumber);
      const least = Math.min(...(series.low || series.mean).filter(isNumber));
      const greatest = Math.max(...(series.high || series.mean).filter(isNumber));
      return [series.label || series.name, format(values[0]), format(least), format(greatest),
              format(values[values.length - 1])];
    });
    this.values.replaceChildren(this.values.firstChild,
                                table(this.spec.title, ['', 'first', 'least', 'greatest', 'last'], rows));
  }

  reading() {
    return this.place.textContent + ': ' + this.spec.series.map(series =>
      `${series.label || series.name} ${this.readings.get(series).textContent}`).join(', ');
  }
}

/** A piece of the curve: colour and dash, as in the chart. */
function swatch(series) {
  const pattern = series.dash ? dashes[series.dash % dashes.length] : null;
  return drawn('svg', {class: 'swatch', viewBox: '0 0 24 8', width: 24, height: 8, 'aria-hidden': 'true'},
               drawn('line', {x1: 0, x2: 24, y1: 4, y2: 4, style: `stroke: var(--c${series.colour % 8})`,
                              'stroke-width': 2.5, 'stroke-dasharray': pattern ? pattern.join(' ') : null}),
               series.points ? drawn('circle', {cx: 12, cy: 4, r: 3, style: `fill: var(--c${series.colour % 8})`}) :
               null);
}

/** Draws charts when they come into view, and not before. */
const whenSeen = new IntersectionObserver(entries => {
  for (const entry of entries) {
    const chart = shared.charts.find(each => each.element === entry.target);
    if (!chart || !entry.isIntersecting) continue;
    whenSeen.unobserve(entry.target);
    chart.seen = true;
    chart.draw();
  }
}, {rootMargin: '300px'});

function addChart(spec) {
  const chart = new Chart(spec);
  shared.charts.push(chart);
  whenSeen.observe(chart.element);
  return chart.element;
}
