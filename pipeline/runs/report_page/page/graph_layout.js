// Where the nodes and edges of a run's graph are: layers from left to right.

const wordWidth = (text, size) => text.length * size * 0.56;
const rowHeight = 92, boxHeight = 62, marginTop = 30, marginBottom = 50;

/** A loader begins with its plan; what leads there gives memory back. */
const isBegin = name => name === 'plan' || name.endsWith(' plan');

/** Edges that close a circle, found from the nodes in their order. */
function backEdges(nodes, edges) {
  const state = new Map(), back = new Set();
  const visit = name => {
    state.set(name, 'open');
    for (const edge of edges) {
      if (edge.from !== name) continue;
      if (state.get(edge.to) === 'open' || isBegin(edge.to)) back.add(edge);
      else if (!state.has(edge.to)) visit(edge.to);
    }
    state.set(name, 'done');
  };
  for (const node of nodes) if (!state.has(node.name)) visit(node.name);
  return back;
}

/** The layer of each node: one more than its latest predecessor's. */
function layersOf(nodes, forward) {
  const layer = new Map(nodes.map(node => [node.name, 0]));
  for (let round = 0; round < nodes.length; ++round)
    for (const edge of forward) layer.set(edge.to, Math.max(layer.get(edge.to), layer.get(edge.from) + 1));
  return layer;
}

/** Edges over several layers get a bend in each layer between, so that they pass beside its nodes. */
function withBends(nodes, forward, layer) {
  const pieces = [];
  for (const edge of forward) {
    const between = layer.get(edge.to) - layer.get(edge.from) - 1;
    edge.bends = Array.from({length: between}, (_, i) =>
      ({name: `${edge.from}→${edge.to} ${i}`, bend: true, lines: []}));
    let from = edge.from;
    edge.bends.forEach((bend, i) => {
      layer.set(bend.name, layer.get(edge.from) + 1 + i);
      pieces.push({from, to: bend.name});
      from = bend.name;
    });
    pieces.push({from, to: edge.to});
  }
  return {all: [...nodes, ...forward.flatMap(edge => edge.bends)], pieces};
}

/** Places nodes: within a layer by the mean place of their neighbours in the layer before. */
function placed(graph) {
  const nodes = graph.nodes.map(node => ({...node, lines: node.label.split('\n')}));
  const names = new Set(nodes.map(node => node.name));
  const edges = graph.edges.filter(edge => names.has(edge.from) && names.has(edge.to) && edge.from !== edge.to)
    .map(edge => ({...edge}));
  const back = backEdges(nodes, edges);
  const forward = edges.filter(edge => !back.has(edge));
  const layer = layersOf(nodes, forward);
  const {all, pieces} = withBends(nodes, forward, layer);
  const columns = [];
  for (const node of all) (columns[layer.get(node.name)] ||= []).push(node);
  const byName = new Map(all.map(node => [node.name, node]));
  columns.forEach(column => {
    for (const node of column) {
      const before = pieces.filter(piece => piece.to === node.name).map(piece => byName.get(piece.from).place);
      node.wish = before.length ? before.reduce((a, b) => a + b, 0) / before.length : 0;
    }
    column.sort((a, b) => a.wish - b.wish);
    column.forEach((node, i) => { node.place = i - (column.length - 1) / 2; });
  });
  for (const edge of edges) edge.back = back.has(edge);
  return {nodes, columns, byName, layer, edges};
}

/** Gives nodes their x, y and width, so that their lines and the labels of edges have room; returns the whole size. */
function measured({columns, layer, edges}, loads) {
  const height = Math.max(...columns.map(column => column.length)) * rowHeight + marginTop + marginBottom;
  let x = 12;
  columns.forEach((column, at) => {
    const width = Math.max(0, ...column.map(node =>
      Math.max(0, ...node.lines.map((line, i) => wordWidth(line, i ? 11 : 14)),
               wordWidth(loads.get(node.name) || '', 11))));
    for (const node of column) {
      node.width = width + 22;
      node.x = x;
      node.y = marginTop + (height - marginTop - marginBottom) / 2 + node.place * rowHeight;
    }
    const labels = edges.filter(edge => !edge.back && layer.get(edge.from) === at).map(edge =>
      wordWidth(edge.label, 11));
    x += width + 22 + Math.max(36, ...labels.map(label => label + 26));
  });
  return {width: x - 20, height};
}

/** The curve of an edge that goes back, below all nodes, and the place of its label. */
function pathBack(from, to, lowest, index) {
  const low = lowest + boxHeight / 2 + 14 + index % 3 * 8;
  const a = from.x + from.width / 2, b = to.x + to.width / 2;
  return {path: `M${a},${from.y + boxHeight / 2} C${a},${low + 16} ${b},${low + 16} ${b},${to.y + boxHeight / 2 + 3}`,
          at: [(a + b) / 2, low + 8]};
}

/** The curve of an edge through its bends, and the place of its label. */
function pathForward(from, to, bends) {
  let a = from.x + from.width, y = from.y, at = null;
  let path = `M${a},${y}`;
  for (const next of [...bends, to]) {
    const b = next.bend ? next.x : next.x - 3, middle = (a + b) / 2;
    at ||= [middle, (y + next.y) / 2 - 5];
    path += ` C${middle},${y} ${middle},${next.y} ${b},${next.y}`;
    if (next.bend) path += ` H${next.x + next.width}`;
    a = next.x + next.width;
    y = next.y;
  }
  return {path, at};
}
