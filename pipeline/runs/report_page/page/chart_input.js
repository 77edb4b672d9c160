// What the mouse and the keys do in a chart.

/** The mouse moves the cursor and zooms. */
function listenTo(chart) {
  let pressed = null;
  const x = event => event.clientX - chart.area.getBoundingClientRect().left;
  const onPlot = event => chart.plot && isNumber(x(event));
  chart.box.addEventListener('pointermove', event => {
    if (!onPlot(event)) return;
    const row = chart.drawnRows[chart.nearest(chart.plot.toDataXCoord(x(event)))];
    setCursor(row[0]);
    if (pressed === null || event.pointerType === 'touch') return;
    const [from, to] = [Math.min(pressed, x(event)), Math.max(pressed, x(event))];
    chart.band.hidden = to - from < 4;
    chart.band.style.transform = `translateX(${from}px)`;
    chart.band.style.width = to - from + 'px';
  });
  chart.box.addEventListener('pointerdown', event => {
    if (!onPlot(event) || event.button !== 0) return;
    pressed = x(event);
    if (event.pointerType !== 'touch') chart.box.setPointerCapture(event.pointerId);
  });
  chart.box.addEventListener('pointerup', event => {
    if (pressed === null) return;
    const from = Math.min(pressed, x(event)), to = Math.max(pressed, x(event));
    pressed = null;
    chart.band.hidden = true;
    if (event.pointerType !== 'touch' && to - from >= 8)
      setRange([chart.plot.toDataXCoord(from), chart.plot.toDataXCoord(to)]);
  });
  chart.box.addEventListener('pointercancel', () => { pressed = null; chart.band.hidden = true; });
  chart.box.addEventListener('pointerleave', () => { if (pressed === null) setCursor(null); });
  chart.box.addEventListener('dblclick', () => setRange(null));
  chart.box.addEventListener('keydown', event => onKey(chart, event));
}

/** Keys move the cursor, zoom, and show all. */
function onKey(chart, event) {
  if (!chart.plot || event.ctrlKey || event.altKey || event.metaKey) return;
  const rows = chart.drawnRows;
  const move = {ArrowLeft: -1, ArrowRight: 1, PageUp: -10, PageDown: 10}[event.key];
  if (move !== undefined || event.key === 'Home' || event.key === 'End') {
    let at = shared.cursor === null ? (move < 0 ? rows.length : -1) : chart.nearest(shared.cursor);
    at = event.key === 'Home' ? 0 : event.key === 'End' ? rows.length - 1 : at + move;
    setCursor(rows[Math.max(0, Math.min(rows.length - 1, at))][0]);
    announce(chart.reading());
  } else if (event.key === '+' || event.key === '=') {
    zoom(0.5);
  } else if (event.key === '-') {
    zoom(2);
  } else if (event.key === '0' || event.key === 'Escape') {
    setRange(null);
  } else {
    return;
  }
  event.preventDefault();
}
