// Lines of two texts side by side, and words of two lines.
//
// Lines that say the same but for their indentation are one line of both. Anchors are lines that occur once on both sides
// (patience diff); what lies between anchors is compared in full where that is small, and else paired in order.

const SAME = 0, MOVED = 1, CHANGED = 2, REMOVED = 3, ADDED = 4;
const FULL = 4e6; // pairs of lines that are compared in full

function diffLines(left, right, origins = [[], []]) {
  // two arrays of lines -> {left, right, kind}: line numbers (-1 for none) and what each row is;
  // `origins` are the lines of the source that lines came from, which belong together where all else fails
  const ids = new Map();
  const number = (line) => {
    const key = line.trim();
    let id = ids.get(key);
    if (id === undefined) ids.set(key, (id = ids.size));
    return id;
  };
  const a = Int32Array.from(left, number), b = Int32Array.from(right, number);
  const out = { left: [], right: [], kind: [] };
  const same = (i, j) => {
    out.left.push(i);
    out.right.push(j);
    out.kind.push(left[i] === right[j] ? SAME : MOVED);
  };
  const todo = [[0, a.length, 0, b.length]];
  while (todo.length) {
    let [i, iEnd, j, jEnd, matched] = todo.pop();
    if (matched) {
      for (; i < iEnd; i++, j++) same(i, j);
      continue;
    }
    while (i < iEnd && j < jEnd && a[i] === b[j]) same(i++, j++);
    let tail = 0;
    while (i < iEnd - tail && j < jEnd - tail && a[iEnd - 1 - tail] === b[jEnd - 1 - tail]) tail++;
    if (tail) todo.push([iEnd - tail, iEnd, jEnd - tail, jEnd, true]);
    iEnd -= tail;
    jEnd -= tail;
    if (i === iEnd || j === jEnd) {
      replaced(out, left, right, origins, i, iEnd, j, jEnd);
      continue;
    }
    const pairs = (iEnd - i) * (jEnd - j) <= FULL ? common(a, i, iEnd, b, j, jEnd) : anchors(a, i, iEnd, b, j, jEnd);
    if (!pairs.length) {
      replaced(out, left, right, origins, i, iEnd, j, jEnd);
      continue;
    }
    const full = (iEnd - i) * (jEnd - j) <= FULL;
    const parts = [];
    let x = i, y = j;
    for (const [p, q] of pairs) {
      if (p > x || q > y) parts.push([x, p, y, q]);
      parts.push([p, p + 1, q, q + 1, true]);
      x = p + 1;
      y = q + 1;
    }
    if (x < iEnd || y < jEnd) parts.push([x, iEnd, y, jEnd]);
    if (full) {
      for (const [p, pEnd, q, qEnd, matched] of parts) {
        if (matched) same(p, q);
        else replaced(out, left, right, origins, p, pEnd, q, qEnd);
      }
    } else todo.push(...parts.reverse());
  }
  return out;
}

function anchors(a, i, iEnd, b, j, jEnd) {
  // lines that occur once on both sides, as many as are in the same order
  const seen = new Map();
  for (let k = i; k < iEnd; k++) seen.set(a[k], seen.has(a[k]) ? -1 : k);
  const other = new Map();
  for (let k = j; k < jEnd; k++) if (seen.get(b[k]) >= 0) other.set(b[k], other.has(b[k]) ? -1 : k);
  const pairs = [];
  for (let k = i; k < iEnd; k++) {
    const at = other.get(a[k]);
    if (at >= 0 && seen.get(a[k]) === k) pairs.push([k, at]);
  }
  // the longest increasing subsequence of the right numbers
  const tops = [], before = new Int32Array(pairs.length);
  pairs.forEach(([, q], at) => {
    let low = 0, high = tops.length;
    while (low < high) {
      const middle = (low + high) >> 1;
      if (pairs[tops[middle]][1] < q) low = middle + 1;
      else high = middle;
    }
    before[at] = low ? tops[low - 1] : -1;
    tops[low] = at;
  });
  const found = [];
  for (let at = tops.length ? tops[tops.length - 1] : -1; at >= 0; at = before[at]) found.push(pairs[at]);
  return found.reverse();
}

function common(a, i, iEnd, b, j, jEnd) {
  // a longest common subsequence, as pairs
  const n = iEnd - i, m = jEnd - j, width = m + 1;
  const table = new Int32Array((n + 1) * width);
  for (let p = n - 1; p >= 0; p--) {
    for (let q = m - 1; q >= 0; q--) {
      const at = p * width + q;
      table[at] = a[i + p] === b[j + q] ? table[at + width + 1] + 1 : Math.max(table[at + width], table[at + 1]);
    }
  }
  const pairs = [];
  for (let p = 0, q = 0; p < n && q < m; ) {
    const at = p * width + q;
    if (a[i + p] === b[j + q]) pairs.push([i + p++, j + q++]);
    else if (table[at + width] >= table[at + 1]) p++;
    else q++;
  }
  return pairs;
}

function replaced(out, left, right, origins, i, iEnd, j, jEnd) {
  // lines that were replaced: those that are alike stand beside each other
  const put = (p, q, kind) => {
    out.left.push(p);
    out.right.push(q);
    out.kind.push(kind);
  };
  const n = iEnd - i, m = jEnd - j;
  if (n && m && n * m <= 2500) {
    const words = (line) => new Set(line.match(/\w+|[^\w\s]/g));
    const a = left.slice(i, iEnd).map(words), b = right.slice(j, jEnd).map(words);
    const alike = (p, q) => {
      const x = a[p], y = b[q], origin = origins[0][i + p];
      let shared = 0;
      for (const word of x) if (y.has(word)) shared++;
      const score = (2 * shared) / (x.size + y.size || 1) + (origin && origin === origins[1][j + q] ? 0.3 : 0);
      return score > 0.5 ? score : 0;
    };
    const width = m + 1, table = new Float64Array((n + 1) * width), score = new Float64Array((n + 1) * width);
    for (let p = n - 1; p >= 0; p--) {
      for (let q = m - 1; q >= 0; q--) {
        const at = p * width + q;
        score[at] = alike(p, q);
        table[at] = Math.max(table[at + width], table[at + 1], score[at] ? table[at + width + 1] + score[at] : 0);
      }
    }
    let p = 0, q = 0;
    while (p < n && q < m) {
      const at = p * width + q;
      if (score[at] && table[at] === table[at + width + 1] + score[at]) put(i + p++, j + q++, CHANGED);
      else if (table[at] === table[at + width]) put(i + p++, -1, REMOVED);
      else put(-1, j + q++, ADDED);
    }
    i += p;
    j += q;
  }
  if (n * m > 2500) while (i < iEnd && j < jEnd) put(i++, j++, CHANGED);
  while (i < iEnd) put(i++, -1, REMOVED);
  while (j < jEnd) put(-1, j++, ADDED);
}

function diffWords(left, right) {
  // what differs in two lines: a list of [start, end] for each; indentation is not looked at
  const cut = (line) => [...line.matchAll(/\w+|[^\w\s]/gu)].map((match) => [match[0], match.index]);
  const a = cut(left.trimStart()), b = cut(right.trimStart());
  const ids = new Map();
  const number = ([word]) => ids.get(word) ?? (ids.set(word, ids.size), ids.size - 1);
  const x = a.map(number), y = b.map(number);
  let i = 0, iEnd = x.length, j = 0, jEnd = y.length;
  while (i < iEnd && j < jEnd && x[i] === y[j]) i++, j++;
  while (i < iEnd && j < jEnd && x[iEnd - 1] === y[jEnd - 1]) iEnd--, jEnd--;
  const inA = new Set(), inB = new Set();
  if ((iEnd - i) * (jEnd - j) <= 250000) {
    for (const [p, q] of common(x, i, iEnd, y, j, jEnd)) {
      inA.add(p);
      inB.add(q);
    }
  }
  const ranges = (line, words, from, to, kept) => {
    const shift = line.length - line.trimStart().length, found = [];
    for (let k = from; k < to; k++) {
      if (kept.has(k)) continue;
      const start = words[k][1] + shift, end = start + words[k][0].length;
      if (found.length && k > from && !kept.has(k - 1)) found[found.length - 1][1] = end;
      else found.push([start, end]);
    }
    return found;
  };
  return [ranges(left, a, i, iEnd, inA), ranges(right, b, j, jEnd, inB)];
}
